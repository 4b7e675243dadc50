package stage2

// Config is what the host decides about one box. The host encodes it into the first message; file descriptors travel
// beside it, and the fields that are an FD count through them from 0.
type Config struct {
	Hostname string

	// Ranged is true where the host mapped a range of ids, so that the program may have another than stage two's 0.
	Ranged   bool
	UID, GID int // of the program, as the box sees them

	RootBytes, RootInodes uint64 // bounds of what is written outside the volume; kept in memory
	Layers                []Source
	Binds                 []Bind
	Symlinks              []Pair
	Dirs                  []Dir
	Files                 []File

	Workdir string
	Net     Net

	Landlock bool
	Writable []string // where landlock lets the program write
	Rlimits  []Rlimit
	Affinity []uint64 // mask of processors; empty means all
	Seccomp  []byte   // struct sock_filter[]
	Program  Program
}

// Source is a directory or file of the host: a path, or a mount that the host made (FD >= 0).
type Source struct {
	Path    string
	FD      int
	NoLinks bool // the path has none, and where it has one by now it is refused
}

// Bind shows Source at Dst in the box.
type Bind struct {
	Source
	Dst      string
	Write    bool
	Optional bool // a source that is missing is passed over
}

// Pair is a symbolic link.
type Pair struct{ Name, Target string }

// Dir is a directory to make.
type Dir struct {
	Name  string
	Mode  uint32
	Owned bool // belongs to the program
}

// File is a file to write.
type File struct {
	Name    string
	Mode    uint32
	Content []byte
}

// Net says what the box's network namespace holds. Without Listen there is nothing but lo.
type Net struct {
	Listen bool
	Ports  []int // TCP; DNS is added
	// Bundle is where the box's own certificates are looked for; the first that is there is copied to BundleAt with Extra
	// added.
	Bundles  []string
	BundleAt string
	Extra    []byte
}

// Rlimit is one resource limit.
type Rlimit struct {
	Resource   int
	Soft, Hard uint64
}

// Program is what to run; the descriptors of its standard streams are sent beside it.
type Program struct {
	ID   uint64
	Argv []string
	Env  []string
	Dir  string
}

// encode and decode are one walk over the fields, so that the two cannot differ.

// Encode gives the message that carries c.
func (c *Config) Encode() []byte {
	w := &codec{}
	c.walk(w)
	return w.buf
}

// DecodeConfig reads what Encode wrote.
func DecodeConfig(b []byte) (*Config, error) {
	r := &codec{buf: b, reading: true}
	c := &Config{}
	c.walk(r)
	return c, r.end()
}

func (c *Config) walk(w *codec) {
	w.str(&c.Hostname)
	w.boolean(&c.Ranged)
	w.num(&c.UID)
	w.num(&c.GID)
	w.u64(&c.RootBytes)
	w.u64(&c.RootInodes)
	list(w, &c.Layers, (*Source).walk)
	list(w, &c.Binds, (*Bind).walk)
	list(w, &c.Symlinks, func(p *Pair, w *codec) { w.str(&p.Name); w.str(&p.Target) })
	list(w, &c.Dirs, func(d *Dir, w *codec) { w.str(&d.Name); w.u32(&d.Mode); w.boolean(&d.Owned) })
	list(w, &c.Files, func(f *File, w *codec) { w.str(&f.Name); w.u32(&f.Mode); w.bytes(&f.Content) })
	w.str(&c.Workdir)
	c.Net.walk(w)
	w.boolean(&c.Landlock)
	w.strs(&c.Writable)
	list(w, &c.Rlimits, func(r *Rlimit, w *codec) { w.num(&r.Resource); w.u64(&r.Soft); w.u64(&r.Hard) })
	list(w, &c.Affinity, func(m *uint64, w *codec) { w.u64(m) })
	w.bytes(&c.Seccomp)
	c.Program.walk(w)
}

func (s *Source) walk(w *codec) {
	w.str(&s.Path)
	w.num(&s.FD)
	w.boolean(&s.NoLinks)
}

func (b *Bind) walk(w *codec) {
	b.Source.walk(w)
	w.str(&b.Dst)
	w.boolean(&b.Write)
	w.boolean(&b.Optional)
}

func (n *Net) walk(w *codec) {
	w.boolean(&n.Listen)
	list(w, &n.Ports, func(p *int, w *codec) { w.num(p) })
	w.strs(&n.Bundles)
	w.str(&n.BundleAt)
	w.bytes(&n.Extra)
}

func (p *Program) walk(w *codec) {
	w.u64(&p.ID)
	w.strs(&p.Argv)
	w.strs(&p.Env)
	w.str(&p.Dir)
}

// Encode gives the message that asks for one more program.
func (p *Program) Encode() []byte {
	w := &codec{}
	p.walk(w)
	return w.buf
}

// DecodeProgram reads what Program.Encode wrote.
func DecodeProgram(b []byte) (*Program, error) {
	r := &codec{buf: b, reading: true}
	p := &Program{}
	p.walk(r)
	return p, r.end()
}
