package main

// cost is a row that measures zeno alone, against a bar.
type cost struct {
	name    string
	measure func(rounds int) ([]measured, error)
}

// measured is one line of the table of costs. It is reached when value is at most bar; a line without a bar is there to
// compare with.
type measured struct {
	what  string
	value float64
	bar   float64 // 0: none
	unit  string
}

func (m measured) reached() bool { return m.value <= m.bar }

func costs() []cost {
	return []cost{
		{"fresh", freshIsolate},
		{"small", smallEval},
		{"hostcall", hostCall},
		{"idle", idleIsolates},
		{"start", startProcess},
		{"mcp", overMCP},
		{"journal", appendEvents},
		{"observe", watchedEval},
		{"box", startBox},
		{"images", buildImages},
		{"egress", throughEgress("--http1.1")},
		{"egress-h2", throughEgress("--http2")},
	}
}
