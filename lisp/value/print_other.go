package value

// regexSource gives the pattern of a regex.
func regexSource(v Value) string { return v.Kind().String() }

// recordName gives ns.Name of a record.
func recordName(v Value) string { return v.Kind().String() }

// tooBig tells whether writing a number out would take long.
func tooBig(v Value) bool { return v.Kind() >= KindBigInt && v.Kind() <= KindBigDec }
