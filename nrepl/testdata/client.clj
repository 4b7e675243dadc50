;; What the nREPL project's own client sees of a server, a line for each thing. The argument is the port.
(require '[nrepl.core :as nrepl])

(defn show [what v] (println what (pr-str v)))

(with-open [conn (nrepl/connect :host "127.0.0.1" :port (parse-long (first *command-line-args*)))]
  (let [client  (nrepl/client conn 20000)
        session (nrepl/client-session client)
        other   (nrepl/client-session client)
        ask     (fn [s m] (nrepl/combine-responses (nrepl/message s m)))
        values  (fn [code] (nrepl/response-values (nrepl/message session {:op "eval" :code code})))]
    (show "eval" (values "(+ 1 2) \"λ€𝄞\" {:a [1/2 2N]}"))
    (show "out" (select-keys (ask session {:op "eval" :code "(println \"printed\")"}) [:out :value :status]))
    (show "error" (select-keys (ask session {:op "eval" :code "(nosuch)"}) [:ex :status]))
    (show "history" (values "(inc 41) *1"))
    (show "load-file" (:value (ask session {:op "load-file" :file "(ns a.b)\n(defn f \"Doc.\" [x] x)"
                                            :file-path "a/b.clj" :file-name "b.clj"})))
    (show "lookup" (select-keys (:info (ask session {:op "lookup" :sym "f" :ns "a.b"})) [:name :ns :arglists-str :line]))
    (show "completions" (map :candidate (:completions (ask session {:op "completions" :prefix "reduce-k" :ns "user"}))))
    (show "unknown-op" (:status (ask session {:op "no-such-op"})))
    (let [running (nrepl/message session {:op "eval" :code "(do (println :begun) (loop [] (recur)))" :id "long"})]
      (show "begun" (:out (first running)))
      (show "other" (nrepl/response-values (nrepl/message other {:op "eval" :code ":served"})))
      (show "interrupt" (:status (ask session {:op "interrupt" :interrupt-id "long"})))
      (show "interrupted" (:status (nrepl/combine-responses running))))
    (show "after" (values ":alive"))
    (show "close" (:status (ask session {:op "close"})))))
(System/exit 0)
