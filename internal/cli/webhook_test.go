package cli

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// deliver sends a signed request to the address in the file url: post CODE PATH BODY ID [SECRET]
func deliver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: post CODE PATH BODY ID [SECRET]")
	}
	secret := ts.Getenv("PUSH_SECRET")
	if len(args) > 4 {
		secret = args[4]
	}
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(args[2]))
	req, err := http.NewRequest("POST", ts.ReadFile("url")+args[1], strings.NewReader(args[2]))
	ts.Check(err)
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(m.Sum(nil)))
	req.Header.Set("X-GitHub-Delivery", args[3])
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	ts.Check(err)
	_ = res.Body.Close()
	if got := strconv.Itoa(res.StatusCode); got != args[0] {
		ts.Fatalf("post %s: got %s, want %s", args[1], got, args[0])
	}
}
