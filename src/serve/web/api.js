// The service as the console needs it: one function for each thing that can be asked of it, and its streams.

const OPERATOR = "duologue.operator";

/** The operator's token that this page was opened with (`#token=…`, which never leaves the browser in an address) or was given. */
function operator() {
  const given = /^#token=([^&/]+)/.exec(location.hash);
  if (given) {
    localStorage.setItem(OPERATOR, decodeURIComponent(given[1]));
    history.replaceState(null, "", "#/counter");
  }
  return localStorage.getItem(OPERATOR);
}

/** The client. Tokens are kept by session; nothing else in the console knows of addresses or headers. */
export function api(base = "") {
  const tokens = new Map();
  operator();

  async function call(method, path, { body, session, operator: asOperator = false, accept = "application/json", signal } = {}) {
    const headers = { accept };
    const token = asOperator ? operator() : tokens.get(session);
    if (token) headers.authorization = `Bearer ${token}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    const answer = await fetch(base + path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) }).catch((error) => {
      throw error instanceof TypeError ? new Error("The service cannot be reached just now.") : error;
    });
    if (answer.ok) return answer;
    const told = await answer.json().catch(() => ({}));
    throw Object.assign(new Error(told.error?.message ?? `${answer.status} ${answer.statusText}`), { status: answer.status });
  }
  const json = async (...how) => (await call(...how)).json();
  const of = (session) => `/v1/sessions/${encodeURIComponent(session)}`;

  const site_ = (site) => `/v1/sites/${encodeURIComponent(site)}`;
  const asked = (name, value) => `${name}=${encodeURIComponent(value)}`;
  /** A fact with the role and the turn that brought it about, where that is told. */
  const fact = (titles) => (f) => ({ atom: f.fact, by: f.by, at: f.at, turn: f.turn, role: titles.find(([, title]) => f.by?.startsWith(title))?.[0] ?? null });
  let titles = [];
  let anybody = new Set();

  return {
    /** The agent that is served, the site, and what its author planned for the console. */
    async setting() {
      const [{ agents: [agent] }, plan] = await Promise.all([json("GET", "/v1/agents"), json("GET", "/v1/console")]);
      const roles = Object.fromEntries(agent.roles.map((r) => [r.role, r]));
      titles = agent.roles.map((r) => [r.role, r.title]);
      anybody = new Set(agent.roles.filter((r) => r.anybody).map((r) => r.role));
      const usual = { roles: agent.graph ? ["speaker"] : agent.roles.map((r) => r.role).slice(0, 2), examples: {} };
      return { agent: { name: agent.agent, title: agent.title, graph: agent.graph, roles }, site: agent.sites[0], plan: { ...usual, ...plan } };
    },
    /** Whether an operator's token is kept here; it opens the roles that change something for others. */
    operates: () => operator() !== null,
    operate: (token) => localStorage.setItem(OPERATOR, token),
    adopt: ({ session, token }) => tokens.set(session, token),
    open: async ({ site, role }) => {
      const opened = await json("POST", `${site_(site)}/sessions`, { body: { role }, operator: !anybody.has(role) });
      tokens.set(opened.session, opened.token);
      return { session: opened.session, token: opened.token };
    },
    history: async (session, after = 0) => whole((await json("GET", `${of(session)}/history?limit=1000&after=${after}`, { session })).turns),
    /** Says something; the sentences of the reply come as they are safe to say, then the turn. */
    async say(session, text, request, onsentence) {
      const answer = await call("POST", `${of(session)}/turns`, { session, body: { text, request }, accept: "text/event-stream" });
      let turn = null;
      for await (const { event, data } of events(answer.body)) {
        if (event === "sentence") onsentence(JSON.parse(data).text);
        else if (event === "turn") turn = JSON.parse(data);
        else if (event === "error") throw new Error(JSON.parse(data).error?.message ?? data);
      }
      if (!turn) throw new Error("The line broke before the reply was complete. Say it again: it is taken once.");
      return turn;
    },
    why: (session, turn) => json("GET", `${of(session)}/turns/${turn}/why`, { session }),
    whyNot: (session, turn, atom) => json("GET", `${of(session)}/turns/${turn}/whynot?${asked("atom", atom)}`, { session }),
    /** What would come of it if it were said now. */
    whatIf: (session, predicates) => json("GET", `${of(session)}/whatif?${asked("predicates", predicates)}`, { session }),
    /** What holds now and looks like this, each with its proof; `_` stands for anything. */
    holds: async (session, pattern) => (await json("GET", `${of(session)}/holds?${asked("atom", pattern)}`, { session })).holds,
    /** The proof of any atom of a turn. */
    proof: async (session, turn, atom) => (await json("GET", `${of(session)}/turns/${turn}/proof?${asked("atom", atom)}`, { session })).proof,
    source: (file, line) => json("GET", `/v1/source?${asked("file", file)}&line=${line}`, { operator: true }),
    async fork(session, turn) {
      const opened = await json("POST", `${of(session)}/fork`, { session, body: { turn } });
      tokens.set(opened.session, opened.token);
      return { session: opened.session, token: opened.token };
    },
    shared: async (site, session) => {
      const told = await json("GET", `${site_(site)}/facts`, { session });
      return { facts: told.facts.map(fact(titles)), version: told.kb_version };
    },
    facts: async (session, scope) => (await json("GET", `${of(session)}/facts?scope=${scope}`, { session })).facts.map((f) => f.fact),
    flows: async () => (await json("GET", "/v1/flows")).flows,
    async tryFlow(name) {
      const opened = await json("POST", `/v1/flows/${encodeURIComponent(name)}/sessions`, { operator: true });
      tokens.set(opened.session, opened.token);
      return { session: opened.session, token: opened.token };
    },
    unheard: (site) => json("GET", `${site_(site)}/unheard`, { operator: true }),
    read: async (session) => whole((await json("GET", `${of(session)}/history?limit=1000`, { operator: true })).turns),
    /** What happens at the site; connects again when the line breaks. Gives what ends it. */
    events(site, session, { onlive = () => {}, onturn, onfacts }) {
      const stop = new AbortController();
      (async () => {
        for (let wait = 500; !stop.signal.aborted; wait = Math.min(wait * 2, 8000)) {
          try {
            const answer = await call("GET", `${site_(site)}/events`, { session, accept: "text/event-stream", signal: stop.signal });
            onlive(true);
            wait = 500;
            for await (const { event, data } of events(answer.body)) {
              if (event === "turn") onturn(JSON.parse(data).session);
              else if (event === "facts" || event === "moved") onfacts();
              else if (event === "missed") onturn(session), onfacts();
            }
          } catch {
            // The loop tries again.
          }
          onlive(false);
          await new Promise((done) => setTimeout(done, wait));
        }
      })();
      return () => stop.abort();
    },
  };
}

/** The events of a stream, as `{event, data}`. */
export async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value.replaceAll("\r\n", "\n");
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const lines = rest.slice(0, end).split("\n");
      rest = rest.slice(end + 2);
      const of = (name) => lines.filter((l) => l.startsWith(`${name}:`)).map((l) => l.slice(name.length + 1).replace(/^ /, ""));
      const data = of("data").join("\n");
      if (data || of("event").length) yield { event: of("event")[0] ?? "message", data };
    }
  }
}

/** A turn that waited for a function is logged before the call and after it; who reads sees it once. */
function whole(turns) {
  const entry = (t, turn) => `${t.epoch}/${turn}`;
  const earlier = new Set(turns.flatMap((t) => (t.rounds ?? []).filter((r) => r.turn !== t.turn).map((r) => entry(t, r.turn))));
  return turns.filter((t) => !earlier.has(entry(t, t.turn)));
}
