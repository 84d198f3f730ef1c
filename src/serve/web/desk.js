// The counter's state and everything that can be done at it: open lanes, say, select, replay, fork. Draws nothing.
import { toast } from "./dom.js";
import { store } from "./store.js";
import { inOrder } from "./timeline.js";

const PLAY_MS = 1100;

/** A desk for the roles of an agent at a site. */
export function desk({ service, site, agent, roles, sees = roles[0] }) {
  const lanes = Object.fromEntries(roles.map((role) => [role, { role, session: null, turns: [], pending: null, forkOf: null, locked: null }]));
  const held = store({ lanes, shared: [], version: null, selected: null, replay: null, playing: false, live: false });
  const { state, change } = held;
  const kept = (role) => `duologue.session/${site}/${agent ?? ""}/${role}`;
  const ends = [];
  const opening = {};
  let timer = null;

  const keep = (role, opened) => localStorage.setItem(kept(role), JSON.stringify(opened));

  /** Opens a role's lane: the one of before a reload, or of another tab, if it is still there. */
  function open(role, fresh = false) {
    opening[role] = opened(role, fresh);
    return opening[role];
  }

  async function opened(role, fresh) {
    const before = fresh ? null : JSON.parse(localStorage.getItem(kept(role)) ?? "null");
    if (before) {
      service.adopt(before);
      try {
        const turns = await service.history(before.session);
        put(role, before, turns);
        return;
      } catch {
        // It is gone: an old store, or an ended visit.
      }
    }
    try {
      const anew = await service.open({ site, agent, role });
      keep(role, anew);
      put(role, anew, []);
    } catch (error) {
      if (error.status !== 401 && error.status !== 403) throw error;
      change((s) => {
        s.lanes[role].locked = error.message;
      });
    }
  }

  function put(role, opened, turns) {
    change((s) => {
      Object.assign(s.lanes[role], { session: opened.session, forkOf: opened.forkOf ?? null, turns, pending: null, locked: null });
      const last = turns.at(-1);
      if (last && !s.selected && role === sees) s.selected = { role, turn: last.turn };
    });
  }

  async function refresh(role) {
    const lane = state.lanes[role];
    if (!lane.session) return;
    const turns = await service.history(lane.session);
    change(() => {
      lane.turns = turns;
    });
  }

  async function facts() {
    if (!state.lanes[sees].session) return;
    const told = await service.shared(site, state.lanes[sees].session);
    change((s) => {
      s.shared = told.facts;
      s.version = told.version;
    });
  }

  /** Says something; whether it was answered. What was not is said again under the same name, so that it is taken once. */
  async function say(role, text) {
    const lane = state.lanes[role];
    // Who is quicker than the service is heard when the conversation is open.
    if (!lane.session) await opening[role]?.catch(() => {});
    if (lane.pending || !lane.session) return false;
    now();
    change(() => {
      lane.pending = { text, reply: "" };
    });
    const again = lane.unanswered?.text === text && lane.unanswered.session === lane.session;
    const request = again ? lane.unanswered.request : crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
    lane.unanswered = { text, session: lane.session, request };
    try {
      const answer = await service.say(lane.session, text, request, (sentence) =>
        change(() => {
          lane.pending = { text, reply: `${lane.pending?.reply ?? ""} ${sentence}`.trim() };
        }));
      lane.unanswered = null;
      const turns = await service.history(lane.session);
      change((s) => {
        lane.pending = null;
        lane.turns = turns;
        s.selected = { role, turn: answer.turn };
      });
      await facts();
      if (answer.ended) toast(`The conversation ended: ${answer.ended}. What is said next begins a new one.`);
    } catch (error) {
      change(() => {
        lane.pending = null;
      });
      toast(error.message);
    }
    return !lane.unanswered;
  }

  function goTo(turn) {
    const all = inOrder(state);
    const last = all.at(-1);
    change((s) => {
      s.replay = last && last.at === turn.at ? null : { at: turn.at };
      s.selected = { role: turn.role, turn: turn.turn };
    });
  }

  function place() {
    const all = inOrder(state);
    return { all, at: state.replay ? all.findIndex((t) => t.at === state.replay.at) : all.length - 1 };
  }

  function step(by) {
    const { all, at } = place();
    if (all.length === 0) return;
    const to = by === "first" ? 0 : Math.min(Math.max(at + by, 0), all.length - 1);
    goTo(all[to]);
  }

  function play() {
    if (state.playing) return pause();
    const { all, at } = place();
    if (all.length === 0) return undefined;
    goTo(all[at === all.length - 1 ? 0 : at]);
    change((s) => {
      s.playing = true;
    });
    timer = setInterval(() => {
      const here = place();
      if (here.at >= here.all.length - 1) pause();
      else step(1);
    }, PLAY_MS);
    return undefined;
  }

  function pause() {
    clearInterval(timer);
    change((s) => {
      s.playing = false;
    });
  }

  function now() {
    pause();
    change((s) => {
      s.replay = null;
    });
  }

  /** Goes on differently after a turn: a session of its own, with everything said until then. */
  async function fork(role, turn) {
    try {
      const forked = await service.fork(state.lanes[role].session, turn);
      const opened = { ...forked, forkOf: turn };
      keep(role, opened);
      now();
      const turns = await service.history(opened.session);
      change((s) => {
        s.selected = { role, turn };
      });
      put(role, opened, turns);
      follow();
      toast(`A conversation of its own now; it goes on after turn ${turn}.`);
      document.getElementById(`say-${role}`)?.focus();
    } catch (error) {
      toast(error.message);
    }
  }

  /** Follows what happens in the lanes and at the site, also by other tabs and people. Gives what ends it. */
  function follow() {
    ends.splice(0).forEach((end) => end());
    const open = Object.values(state.lanes).filter((lane) => lane.session);
    ends.push(...open.map((lane, i) => service.events(site, lane.session, {
      onlive: i > 0 ? undefined : (live) => change((s) => {
        s.live = live;
      }),
      onturn: (session) => {
        if (session === lane.session && !lane.pending) refresh(lane.role).catch(() => {});
      },
      onfacts: i > 0 ? () => {} : () => facts().catch(() => {}),
    })));
  }

  return {
    watch: held.watch,
    state,
    say,
    select: (role, turn) => change((s) => {
      s.selected = { role, turn };
    }),
    restart: async (role) => {
      try {
        await open(role, true);
        follow();
        change((s) => {
          s.selected = null;
          s.replay = null;
        });
        document.getElementById(`say-${role}`)?.focus();
      } catch (error) {
        toast(error.message);
      }
    },
    goTo,
    step,
    play,
    now,
    fork,
    async start() {
      await Promise.all(roles.map((role) => open(role)));
      await facts().catch((error) => toast(error.message));
      follow();
      return () => ends.splice(0).forEach((end) => end());
    },
    /** Opens a lane that needed a token, now that there is one. */
    async unlock(role, token) {
      service.operate(token);
      await open(role);
      follow();
      const { locked } = state.lanes[role];
      if (locked) toast(locked);
    },
  };
}
