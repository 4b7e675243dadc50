package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/net/ipv4"
	"golang.org/x/time/rate"
)

const (
	// maxQuery is the longest query that is looked at: one question fits into 271 bytes, options included in this.
	maxQuery = 1232
	// answerTTL is how long a box may keep an address, in seconds.
	answerTTL = 30
)

// stub answers DNS out of the policy. It asks nobody: a name never leaves the host before it is allowed, so names carry
// nothing out.
type stub struct {
	// address gives the address of a name; ok is false for a name that is not allowed.
	address func(name string) (a netip.Addr, ok bool)
	// refused is told of each name that was refused.
	refused func(name string)
	limit   *rate.Limiter
}

// serve answers until conn is closed.
func (s *stub) serve(ctx context.Context, conn net.PacketConn) error {
	pc := withDestination(conn)
	buf := make([]byte, maxQuery+1)
	for {
		n, from, reply, err := pc(buf)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			if temporary(err) {
				continue
			}
			return fmt.Errorf("failed to read a DNS query: %w", err)
		}
		if !s.limit.Allow() {
			continue // the client asks again
		}
		if answer := s.answer(buf[:n]); answer != nil {
			_ = reply(answer, from) // who is gone needs no answer
		}
	}
}

// temporary tells an error of one datagram: an earlier answer that reached nobody.
func temporary(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && !ne.Timeout() && strings.Contains(err.Error(), "refused")
}

// receive reads one datagram and gives the way to answer it.
type receive func([]byte) (n int, from net.Addr, reply func([]byte, net.Addr) error, err error)

// withDestination makes answers come from the address that was asked, on a socket that is bound to every address. A client
// that connected its socket hears no other.
func withDestination(conn net.PacketConn) receive {
	plain := func(b []byte, to net.Addr) error { _, err := conn.WriteTo(b, to); return err }
	if udp, ok := conn.(*net.UDPConn); ok {
		p := ipv4.NewPacketConn(udp)
		if p.SetControlMessage(ipv4.FlagDst|ipv4.FlagInterface, true) == nil {
			return func(buf []byte) (int, net.Addr, func([]byte, net.Addr) error, error) {
				n, cm, from, err := p.ReadFrom(buf)
				if err != nil || cm == nil || cm.Dst == nil {
					return n, from, plain, err
				}
				return n, from, func(b []byte, to net.Addr) error {
					_, err := p.WriteTo(b, &ipv4.ControlMessage{Src: cm.Dst}, to)
					return err
				}, nil
			}
		}
	}
	return func(buf []byte) (int, net.Addr, func([]byte, net.Addr) error, error) {
		n, from, err := conn.ReadFrom(buf)
		return n, from, plain, err
	}
}

// answer gives the answer to a query, or nil for what is to be left without one.
func (s *stub) answer(query []byte) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(query)
	if err != nil || h.Response {
		return nil // not even its number is known, or an answer: answering could go round in circles
	}
	out := dnsmessage.Header{ID: h.ID, Response: true, OpCode: h.OpCode, RecursionDesired: h.RecursionDesired, RecursionAvailable: true}
	q, err := onlyQuestion(&p)
	switch {
	case h.OpCode != 0:
		out.RCode = dnsmessage.RCodeNotImplemented
		return pack(out, nil, netip.Addr{})
	case err != nil || len(query) > maxQuery:
		out.RCode = dnsmessage.RCodeFormatError
		return pack(out, nil, netip.Addr{})
	}
	name, addr, ok := strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")), netip.Addr{}, false
	if q.Class == dnsmessage.ClassINET && plainName(name) {
		addr, ok = s.address(name)
	}
	if !ok {
		s.refused(name)
		out.RCode = dnsmessage.RCodeRefused
		return pack(out, &q, netip.Addr{})
	}
	if q.Type != dnsmessage.TypeA {
		addr = netip.Addr{} // there is the name, and nothing of this type
	}
	return pack(out, &q, addr)
}

func onlyQuestion(p *dnsmessage.Parser) (dnsmessage.Question, error) {
	q, err := p.Question()
	if err != nil {
		return q, err
	}
	if _, err := p.Question(); !errors.Is(err, dnsmessage.ErrSectionDone) {
		return q, fmt.Errorf("DNS query: got more than one question, want one")
	}
	return q, nil
}

func pack(h dnsmessage.Header, q *dnsmessage.Question, a netip.Addr) []byte {
	m := dnsmessage.Message{Header: h}
	if q != nil {
		m.Questions = []dnsmessage.Question{*q}
	}
	if a.IsValid() {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: answerTTL},
			Body:   &dnsmessage.AResource{A: a.As4()},
		}}
	}
	b, err := m.Pack()
	if err != nil {
		return nil
	}
	return b
}
