;; An Emacs of its own: zeno is its inferior Lisp, and forms of a buffer of Lisp are sent to it.
(require 'inf-lisp)
(setq inferior-lisp-prompt "^[^> \n]*=> ")

(defun process () (get-buffer-process "*inferior-lisp*"))

(defun shown (regexp)
  "Waits until the buffer shows REGEXP."
  (let ((end (+ (float-time) 30)))
    (while (not (save-excursion (goto-char (point-min)) (re-search-forward regexp nil t)))
      (when (> (float-time) end) (error "still not shown: %s in %s" regexp (buffer-string)))
      (accept-process-output (process) 0.05))))

(defun typed (text) (comint-send-string (process) (concat text "\n")))

(inferior-lisp (getenv "ZENO_COMMAND"))
(with-current-buffer "*inferior-lisp*"
  (shown "^user=> ")
  (with-temp-buffer
    (lisp-mode)
    (insert "(defn area [w h]\n  (* w h))\n\n(str \"λ \" (area 6 7))")
    (goto-char (point-min))
    (forward-sexp)
    (lisp-eval-last-sexp)
    (goto-char (point-max))
    (lisp-eval-last-sexp))
  (shown "^user=> \"λ 42\"$")
  (typed "(nosuch 1)")
  (shown "unable to resolve nosuch")
  (typed "(do (println :begun) (loop [] (recur)))")
  (shown ":begun$")
  (comint-interrupt-subjob)
  (shown "interrupted$")
  (typed "(area 9 11)")
  (shown "^user=> 99$")
  (comint-send-eof)
  (while (process-live-p (process)) (accept-process-output (process) 0.05))
  (shown "Process inferior-lisp finished"))
