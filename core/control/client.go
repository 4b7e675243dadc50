package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"syscall"
	"time"
)

// ErrNotRunning: no zeno listens for the home.
var ErrNotRunning = errors.New("no zeno serves it")

// ErrCut: the zeno that was asked ended before its answer did. Whether it did what it was asked is not known.
var ErrCut = errors.New("zeno ended before it had answered; whether it has done it is not known")

// Client asks the zeno of one state directory. It is safe for concurrent use.
type Client struct {
	dir  string
	http *http.Client
}

// Dial reaches the zeno that serves the state directory dir, by its socket. The error is ErrNotRunning where there is none.
func Dial(ctx context.Context, dir string) (*Client, error) {
	c := &Client{dir: dir}
	c.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return c.dial(ctx)
	}, DisableKeepAlives: true}}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	_ = conn.Close()
	return c, nil
}

func (c *Client) dial(ctx context.Context) (conn net.Conn, err error) {
	err = short(filepath.Join(c.dir, SocketFile), func(p string) error {
		conn, err = (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", p)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%s: %w", filepath.Dir(c.dir), ErrNotRunning)
	}
	if err != nil {
		return nil, fmt.Errorf("control: failed to reach zeno: %w", err)
	}
	return conn, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call calls a verb with in, nil for nothing, and reads its answer into out, nil to drop it. What zeno refuses is an
// *Error.
func (c *Client) Call(ctx context.Context, verb string, in, out any) error {
	res, err := c.send(ctx, verb, in)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return cut(ctx, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("control: got an answer that does not fit: %w", err)
	}
	return nil
}

// Stream calls a verb and gives each item of its answer to f, until it ends, f fails or ctx ends.
func (c *Client) Stream(ctx context.Context, verb string, in any, f func(json.RawMessage) error) error {
	res, err := c.send(ctx, verb, in)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	for r := bufio.NewReader(res.Body); ; {
		text, err := r.ReadBytes('\n')
		if err != nil {
			return cut(ctx, err)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("control: got a line that does not fit: %w", err)
		}
		switch {
		case l.Error != nil:
			return l.Error
		case l.End:
			return nil
		}
		if err := f(l.Item); err != nil {
			return err
		}
	}
}

func (c *Client) send(ctx context.Context, verb string, in any) (*http.Response, error) {
	var body io.Reader = http.NoBody
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("control: failed to write the argument: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/"+verb, body)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if errors.Is(err, ErrNotRunning) {
			return nil, fmt.Errorf("%s: %w", filepath.Dir(c.dir), ErrNotRunning)
		}
		return nil, cut(ctx, err)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct{ Error *Error }
	if b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20)); err == nil && json.Unmarshal(b, &answer) == nil && answer.Error != nil {
		return nil, answer.Error
	}
	return nil, fmt.Errorf("control: got %s, want an answer", res.Status)
}

// cut words the end of a connection.
func cut(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("control: %w", ErrCut)
	}
	return fmt.Errorf("control: %w", err)
}
