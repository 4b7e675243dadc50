// Package stage2 is what runs inside a new box before the program does, and stays as its first process: it builds the
// root, brings the network up, gives up every right, starts the program and reports how it ended.
//
// Its one invariant: no program starts before every constraint of the Config stands. A step that fails is reported by
// name and ends the box. It trusts the host, which sends it one message, and nothing in the box: what it keeps (its
// memory, its descriptors) the programs cannot reach, since it is not dumpable and its capabilities were never theirs.
//
// It has to be small: it links neither fmt nor os, so that it starts in a millisecond. Start at Main, then mounts.go.
package stage2

// Word is the first argument that makes zeno run Main instead of its command line, where no stage two is built in.
const Word = "zeno-stage2"

// Kinds of messages of the control socket; the first byte of each.
const (
	MsgConfig  = 'C' // host to box: Config, with descriptors: stdin, stdout, stderr, then mounts
	MsgProgram = 'P' // host to box: Program, with stdin, stdout, stderr
	MsgSignal  = 'K' // host to box: program's id, signal
	MsgNet     = 'N' // box to host: the listening sockets: UDP first, then TCP in the order of Net.Ports
	MsgStarted = 'S' // box to host: id: the program is about to be executed, all constraints stand
	MsgFailed  = 'F' // box to host: id, text: that program could not be started
	MsgExit    = 'X' // box to host: Exit
	MsgError   = 'E' // box to host: step, errno: the box could not be made
)

// ControlFD is the descriptor of the control socket in stage two.
const ControlFD = 3

// Exit says how a program ended.
type Exit struct {
	ID     uint64
	Status int    // of wait4
	MaxRSS uint64 // bytes
	CPU    uint64 // microseconds, user and system
}

// Encode gives the message's body.
func (e *Exit) Encode() []byte {
	w := &codec{}
	e.walk(w)
	return w.buf
}

// DecodeExit reads what Exit.Encode wrote.
func DecodeExit(b []byte) (*Exit, error) {
	r := &codec{buf: b, reading: true}
	e := &Exit{}
	e.walk(r)
	return e, r.end()
}

func (e *Exit) walk(w *codec) {
	w.u64(&e.ID)
	w.num(&e.Status)
	w.u64(&e.MaxRSS)
	w.u64(&e.CPU)
}

// Numbers gives n numbers of a message's body and what follows them.
func Numbers(b []byte, n int) (nums []uint64, rest []byte, err error) {
	r := &codec{buf: b, reading: true}
	nums = make([]uint64, n)
	for i := range nums {
		r.u64(&nums[i])
	}
	if r.bad {
		return nil, nil, errTruncated
	}
	return nums, r.buf, nil
}

// PutNumbers is the inverse of Numbers.
func PutNumbers(nums ...uint64) []byte {
	w := &codec{}
	for i := range nums {
		w.u64(&nums[i])
	}
	return w.buf
}
