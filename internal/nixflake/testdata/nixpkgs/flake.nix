# What the project's flake uses of nixpkgs, as small as it can be. Functions build for real, with the Go of this machine,
# and tell what they were given. host.nix, which the test writes, says where that is.
{
  outputs = { self }:
    let
      host = import ./host.nix;
      packages = system:
        let
          make = attrs: derivation ({ inherit system; builder = "/bin/sh"; inherit (host) PATH GOMODCACHE GOCACHE; GOPROXY = "off"; GOTOOLCHAIN = "local"; } // attrs);
          tool = name: { inherit name; value = { inherit name; }; };
        in
        builtins.listToAttrs (map tool [
          "go" "gopls" "gnumake" "git" "curl" "openssl" "nodejs" "python3" "tmux" "zsh" "fish"
          "nix" "bubblewrap" "iproute2" "util-linux" "skopeo" "umoci" "runc" "podman" "containerd"
        ]) // {
          lib = { licenses.mit.spdxId = "MIT"; optionals = cond: list: if cond then list else [ ]; };
          stdenv.isLinux = builtins.match ".*-linux" system != null;
          mkShell = given: make { name = "shell"; args = [ "-c" "mkdir $out" ]; } // { inherit given; };

          # As in nixpkgs the modules are a derivation whose content has a hash that is known before.
          buildGoModule = given:
            let
              goModules = make {
                name = "${given.pname}-${given.version}-go-modules";
                args = [ "-ec" "export HOME=$PWD; cp -r $src s; chmod -R u+w s; cd s; go mod vendor; cp -r vendor $out" ];
                inherit (given) src;
                outputHashMode = "recursive";
                outputHashAlgo = "sha256";
                outputHash = given.vendorHash;
              };
            in
            make {
              name = "${given.pname}-${given.version}";
              inherit (given) src preBuild;
              inherit goModules;
              inherit (given.env) CGO_ENABLED;
              GOFLAGS = "-mod=vendor -trimpath -tags=${builtins.concatStringsSep "," given.tags}";
              args = [ "-ec" ''
                export HOME=$PWD
                cp -r $src s; chmod -R u+w s; cd s; cp -r $goModules vendor
                eval "$preBuild"
                mkdir -p $out/bin
                go build -buildvcs=false -ldflags '${builtins.concatStringsSep " " given.ldflags}' -o $out/bin/ ${builtins.concatStringsSep " " given.subPackages}
              '' ];
            } // { inherit given goModules; };
        };
    in
    {
      legacyPackages = builtins.listToAttrs (map (system: { name = system; value = packages system; }) [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ]);
    };
}
