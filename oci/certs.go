package oci

// BundlePath is where an image has its CA certificates: a real file, so that a box can put another in its place.
const BundlePath = "/etc/ssl/certs/ca-certificates.crt"

// CertificateFiles are the bundle and links to it where programs look.
func CertificateFiles(bundle []byte) []File {
	return []File{
		{Name: BundlePath[1:], Mode: 0o644, Text: bundle},
		LinkFile("etc/ssl/cert.pem", "certs/ca-certificates.crt"),
		LinkFile("etc/ssl/certs/ca-bundle.crt", "ca-certificates.crt"),
		LinkFile("etc/pki/tls/certs/ca-bundle.crt", "../../../ssl/certs/ca-certificates.crt"),
	}
}

// CertificateEnv tells the programs that do not look there.
func CertificateEnv() map[string]string {
	return map[string]string{"SSL_CERT_FILE": BundlePath, "NIX_SSL_CERT_FILE": BundlePath, "GIT_SSL_CAINFO": BundlePath}
}
