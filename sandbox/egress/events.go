package egress

// maxAsked bounds the refused names whose refusal is told once each.
const maxAsked = 1000

// tell passes an event on.
func (p *Proxy) tell(e Event) {
	if p.conf.Event == nil {
		return
	}
	e.Time = p.conf.Now()
	e.Host, e.Path, e.Error, e.Refused = p.clean(e.Host), p.clean(e.Path), p.clean(e.Error), p.clean(e.Refused)
	p.conf.Event(e)
}

// refused passes on an event that a program in the box can make as often as it likes: those over the rate are counted.
func (p *Proxy) refused(e Event) {
	if !p.events.Allow() {
		p.dropped.Add(1)
		return
	}
	p.flushDropped()
	p.tell(e)
}

func (p *Proxy) flushDropped() {
	if n := p.dropped.Swap(0); n > 0 {
		p.tell(Event{Kind: KindDropped, Dropped: n})
	}
}

// unknownName tells of a name that the stub refused, the first time.
func (p *Proxy) unknownName(name string) {
	if _, told := p.asked.Load(name); told {
		return
	}
	if p.askedN.Add(1) > maxAsked {
		p.dropped.Add(1)
		return
	}
	p.asked.Store(name, true)
	p.refused(Event{Kind: KindDNS, Host: name, Refused: "not allowed by the egress policy"})
}
