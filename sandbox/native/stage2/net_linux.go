package stage2

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// loopback is the index of lo, which every new network namespace has and nothing else.
const loopback = 1

// buildNet brings lo up. With Listen it also makes every IPv4 address one of the box's own, listens where programs will
// dial, and hands the sockets to the host: they stay in this namespace, the proxy does not.
func buildNet(n *Net) *failure {
	rtnl, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fail("socket netlink", err)
	}
	defer unix.Close(rtnl)
	if f := ask(rtnl, "lo up", linkUp()); f != nil || !n.Listen {
		return f
	}
	if f := ask(rtnl, "route local 0.0.0.0/0 dev lo", everythingLocal()); f != nil {
		return f
	}
	return listen(n)
}

func linkUp() []byte {
	b := make([]byte, unix.SizeofNlMsghdr+unix.SizeofIfInfomsg)
	header(b, unix.RTM_NEWLINK, 0)
	m := b[unix.SizeofNlMsghdr:]
	binary.NativeEndian.PutUint32(m[4:], loopback)
	binary.NativeEndian.PutUint32(m[8:], unix.IFF_UP)
	binary.NativeEndian.PutUint32(m[12:], unix.IFF_UP)
	return b
}

// everythingLocal is `ip route add local 0.0.0.0/0 dev lo`.
func everythingLocal() []byte {
	b := make([]byte, unix.SizeofNlMsghdr+unix.SizeofRtMsg+8)
	header(b, unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	m := b[unix.SizeofNlMsghdr:]
	m[0] = unix.AF_INET
	m[4] = unix.RT_TABLE_LOCAL
	m[5] = unix.RTPROT_STATIC
	m[6] = unix.RT_SCOPE_HOST
	m[7] = unix.RTN_LOCAL
	attr := m[unix.SizeofRtMsg:]
	binary.NativeEndian.PutUint16(attr, 8)
	binary.NativeEndian.PutUint16(attr[2:], unix.RTA_OIF)
	binary.NativeEndian.PutUint32(attr[4:], loopback)
	return b
}

func header(b []byte, kind uint16, flags uint16) {
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], kind)
	binary.NativeEndian.PutUint16(b[6:], flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
}

// ask sends one request and reads the kernel's answer to it.
func ask(rtnl int, step string, msg []byte) *failure {
	if err := unix.Sendto(rtnl, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fail(step, err)
	}
	buf := make([]byte, 4096)
	n, _, err := unix.Recvfrom(rtnl, buf, 0)
	if err != nil {
		return fail(step, err)
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(buf[4:]) != unix.NLMSG_ERROR {
		return &failure{step, unix.EPROTO}
	}
	if code := int32(binary.NativeEndian.Uint32(buf[unix.SizeofNlMsghdr:])); code != 0 {
		return &failure{step, unix.Errno(-code)}
	}
	return nil
}

// listen opens the sockets and sends them. The UDP one tells of each datagram which address it was sent to: an answer has
// to come from there.
func listen(n *Net) *failure {
	udp, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fail("socket udp", err)
	}
	if err := unix.SetsockoptInt(udp, unix.IPPROTO_IP, unix.IP_PKTINFO, 1); err != nil {
		return fail("pktinfo", err)
	}
	if err := unix.Bind(udp, &unix.SockaddrInet4{Port: 53}); err != nil {
		return fail("listen :53/udp", err)
	}
	fds := []int{udp}
	for _, p := range n.Ports {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return fail("socket tcp", err)
		}
		if err := unix.Bind(fd, &unix.SockaddrInet4{Port: p}); err != nil {
			return fail("bind tcp port of the egress rules", err)
		}
		if err := unix.Listen(fd, 512); err != nil {
			return fail("listen", err)
		}
		fds = append(fds, fd)
	}
	err = sendMessage(MsgNet, nil, fds...)
	for _, fd := range fds {
		unix.Close(fd)
	}
	if err != nil {
		return fail("hand over the sockets", err)
	}
	return nil
}
