// Package oci makes, reads and keeps container images. An image is data: a [Spec] names packages, sources realise them, a
// planner divides them into layers, and one deterministic writer turns those into bytes.
//
// The one invariant: what is called by a digest has that digest. Layers that are read are hashed against the image's
// configuration before anything of them can be used; layers that are written are hashed while they stream, and a path that
// changed meanwhile is named. The same packages give the same digest for every user, store and run.
//
// Start reading at [Spec] and [Build] for making images, at [OpenArchive] for reading those that others made, and at
// [Store] for where unpacked layers are kept. Sources that need a program of their own are packages below this one:
// oci/dpkg takes Debian packages of this host, oci/nix calls nix, oci/registry speaks to registries.
//
// What comes out of an image is hostile until it is judged: names, links, sizes and counts are bounded by [Limits], links
// lead nowhere but into the image, and nothing of it runs with more rights than the box has: devices are left out, setuid
// and setgid bits and extended attributes are dropped.
package oci
