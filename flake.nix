# `nix run github:reflection-dev/zeno` runs it, `nix build` builds it, `nix develop` has what `make test` uses.
# There is no flake.lock: the first call in a clone writes one, for the nixpkgs of that day. Go 1.26 has to be in it.
{
  description = "zeno orchestrates AI agents";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = f: builtins.listToAttrs (map (system: { name = system; value = f nixpkgs.legacyPackages.${system}; }) systems);
      version = self.shortRev or "dev";

      package = pkgs: pkgs.buildGoModule {
        pname = "zeno";
        inherit version;
        src = self;
        # Of what `go mod vendor` writes. A test in internal/nixflake tells what it is after a change of dependencies.
        vendorHash = "sha256-C+C3k3o9WNjfe6+SuUvjYYLGKZZ9gwo/sI9fVxuU+x4=";
        subPackages = [ "." ];
        env.CGO_ENABLED = "0";
        tags = [ "zeno_stage2" ];
        # What runs inside boxes is built first, and into the program: see `make build`.
        preBuild = "go build -trimpath -ldflags '-s -w' -o sandbox/native/stage2.bin ./sandbox/native/stage2/cmd";
        ldflags = [ "-s" "-w" "-X github.com/reflection-dev/zeno/internal/cli.built=${version}" ];
        doCheck = false; # tests take boxes, engines and agent CLIs, of which a builder has none: `make test`
        meta = {
          description = "Orchestrator of AI agents, hosted in a Lisp";
          homepage = "https://github.com/reflection-dev/zeno";
          license = pkgs.lib.licenses.mit;
          mainProgram = "zeno";
        };
      };

      tools = pkgs: with pkgs; [ go gopls gnumake git curl openssl nodejs python3 tmux zsh fish ]
        ++ pkgs.lib.optionals pkgs.stdenv.isLinux [ nix bubblewrap iproute2 util-linux skopeo umoci runc podman containerd ];
    in
    {
      packages = each (pkgs: rec { zeno = package pkgs; default = zeno; });
      apps = each (pkgs: rec { zeno = { type = "app"; program = "${package pkgs}/bin/zeno"; }; default = zeno; });
      devShells = each (pkgs: { default = pkgs.mkShell { packages = tools pkgs; }; });
    };
}
