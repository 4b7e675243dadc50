package value

// object prints what is neither a scalar nor a collection.
func (p *Printer) object(t *Thread, v Value) {
	switch v.Kind() {
	case KindVar:
		p.Text(t, "#'")
		p.name(t, As[Var](v).NS, As[Var](v).Name)
	case KindFn:
		p.unreadable(t, As[Fn](v).Code.Name)
	case KindNamespace:
		p.Text(t, "#object[Namespace ")
		p.Text(t, As[Namespace](v).Name)
		p.Text(t, "]")
	case KindRegex:
		p.Text(t, `#"`)
		p.Text(t, regexSource(v))
		p.Text(t, `"`)
	case KindUUID:
		p.Text(t, `#uuid "`+As[UUID](v).String()+`"`)
	case KindInst:
		p.Text(t, `#inst "`+As[Inst](v).String()+`"`)
	case KindTaggedLiteral:
		l := As[TaggedLiteral](v)
		p.nested(t, "#", l.Tag, " ", l.Form)
	case KindReaderConditional:
		c := As[ReaderConditional](v)
		if c.Splicing {
			p.nested(t, "#?@", c.Form)
		} else {
			p.nested(t, "#?", c.Form)
		}
	case KindException:
		p.exception(t, As[Exception](v))
	case KindMultiFn, KindProtocolFn:
		p.unreadable(t, genericName(v))
	case KindInstance:
		p.unreadable(t, As[Instance](v).typ.FullName())
	case KindProtocol:
		p.unreadable(t, "Protocol "+As[Protocol](v).FullName())
	case KindType:
		p.Text(t, As[RecordType](v).FullName())
	default:
		if name, val, ready, ok := p.held(v); ok {
			p.cell(t, name, ready, val)
			return
		}
		p.unreadable(t, v.Kind().String())
	}
}

// unreadable prints an object that has no reader form.
func (p *Printer) unreadable(t *Thread, what string) {
	p.Text(t, "#object[")
	p.Text(t, what)
	p.Text(t, "]")
}

// nested prints parts, strings as they are and values as values, one level deeper.
func (p *Printer) nested(t *Thread, parts ...any) {
	t.Enter()
	for _, x := range parts {
		switch x := x.(type) {
		case string:
			p.Text(t, x)
		case Value:
			p.Print(t, x)
		}
	}
	t.Leave()
}

// cell prints a cell as #object[Atom {:status :ready, :val 1}]: a value that may hold itself.
func (p *Printer) cell(t *Thread, name string, ready bool, val Value) {
	status := ":pending"
	if ready {
		status = ":ready"
	}
	if p.Level >= 0 && p.level >= p.Level {
		p.unreadable(t, name)
		return
	}
	p.level++
	p.nested(t, "#object["+name+" {:status "+status+", :val ", val, "}]")
	p.level--
}

// exception prints an exception with its causes: the root cause first, then each from the outside in.
func (p *Printer) exception(t *Thread, e *Exception) {
	if p.Level >= 0 && p.level >= p.Level {
		p.unreadable(t, e.Class)
		return
	}
	p.level++
	root := e
	for n := 0; root.Cause.Kind() == KindException && n < maxCauses; n++ {
		t.Step()
		root = As[Exception](root.Cause)
	}
	p.nested(t, "#error {:cause ", root.Message)
	if !root.Data.IsNil() {
		p.nested(t, ", :data ", root.Data)
	}
	p.Text(t, ", :via [")
	for n := 0; n < maxCauses; n++ {
		p.nested(t, "{:type "+e.Class+", :message ", e.Message)
		if !e.Data.IsNil() {
			p.nested(t, ", :data ", e.Data)
		}
		p.Text(t, "}")
		if e.Cause.Kind() != KindException || p.full {
			break
		}
		t.Step()
		p.Text(t, " ")
		e = As[Exception](e.Cause)
	}
	p.Text(t, "]}")
	p.level--
}

// maxCauses bounds the chain of causes that is shown.
const maxCauses = 100

// exceptionText prints an exception as str shows it.
func (p *Printer) exceptionText(t *Thread, e *Exception) {
	p.Text(t, e.Class)
	if e.Message.Kind() == KindString {
		p.Text(t, ": ")
		p.Text(t, e.Message.Text())
	}
	if e.Class == "ExceptionInfo" && !e.Data.IsNil() {
		p.nested(t, " ", e.Data)
	}
}
