package web

import (
	"context"
	"crypto/tls"
	"net/http"
)

// operatorJSON says who is looking.
type operatorJSON struct {
	MessageType string `json:"message_type"` // "operator"
	Name        string `json:"name"`         // empty: nobody who may change anything
}

// addCommands adds what operators may do. Requests that a browser sends for the page of another
// site are refused.
func (s *Server) addCommands(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/operator", func(w http.ResponseWriter, r *http.Request) {
		s.writeJSON(w, operatorJSON{"operator", s.operator(r.TLS)})
	})
	// A browser sends the operator's credential along with any request to this address, also with one
	// that another site makes. So a valid credential does not say that the operator meant the command.
	protection := http.NewCrossOriginProtection()
	for _, name := range []string{"pause", "resume", "drain"} {
		mux.Handle("POST /api/"+name, protection.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			who := s.operator(r.TLS)
			if who == "" {
				refuse(w, http.StatusForbidden, "this needs an operator credential, on the address for https")
				return
			}
			ctx, cancel := context.WithTimeout(r.Context(), askPatience)
			defer cancel()
			if err := s.cfg.Command(ctx, name); err != nil {
				fail(w, err)
				return
			}
			s.cfg.Log.Info("an operator gave a command on the pages", "operator", who, "command", name, "address",
				r.RemoteAddr)
			w.WriteHeader(http.StatusNoContent)
		})))
	}
}

// operator returns the name of the operator at the other end of a connection, empty if it is none.
func (s *Server) operator(connection *tls.ConnectionState) string {
	if connection == nil {
		return ""
	}
	return s.cfg.Operator(connection)
}
