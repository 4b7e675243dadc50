# Packages for tests, without inputs and without a network: the builder is a busybox that the test puts beside this file.
{
  outputs = { self }:
    let
      system = "x86_64-linux";
      busybox = "${./bb}/busybox";
      make = name: script: derivation {
        inherit name system;
        builder = busybox;
        args = [ "sh" "-c" "export PATH=${./bb}; ${script}" ];
      };
      # A package with one program, which needs what it is given.
      program = name: text: make name ''
        busybox mkdir -p $out/bin
        busybox printf '#!%s sh\n%s\n' ${busybox} '${text}' > $out/bin/${builtins.head (builtins.split "-" name)}
        busybox chmod +x $out/bin/*
      '';
      lib = make "lib-1.0" "busybox mkdir -p $out/lib; echo from-lib > $out/lib/liba";
      sh = make "shell-5.2" "busybox mkdir -p $out/bin; busybox ln -s ${busybox} $out/bin/sh; busybox ln -s ${busybox} $out/bin/env; busybox ln -s ${busybox} $out/bin/cat; busybox ln -s ${busybox} $out/bin/id";
      cacert = make "nss-cacert-3.1" "busybox mkdir -p $out/etc/ssl/certs; echo certificate > $out/etc/ssl/certs/ca-bundle.crt";
      clash = make "clash-1.0" "busybox mkdir -p $out/bin; echo x > $out/bin/hello";
      all = {
        inherit lib sh cacert clash;
        hello = program "hello-2.0" "exec ${busybox} cat ${lib}/lib/liba";
        other = program "other-1.0" "exec ${busybox} echo other";
        preferred = clash // { meta.priority = 1; };
        unloved = clash // { meta.priority = 10; };
        odd = clash // { meta.priority = throw "none"; };
        fails = make "fails-1.0" "echo the reason >&2; exit 1";
        slow = make "slow-1.0" "busybox sleep 987";
        foreign = derivation { name = "foreign-1.0"; system = "aarch64-linux"; builder = busybox; args = [ "sh" "-c" "exit 1" ]; };
      };
    in
    {
      packages.${system} = all // { default = all.hello; };
      legacyPackages.${system} = all // { only-here = lib; number = 5; };
    };
}
