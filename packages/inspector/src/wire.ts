// Messages of the inspector's server to its page, and the results of its tools.
import type { GraphEdge, GraphNode } from '@ambit/container/tools';
import type { TroubleKind } from './signs.js';

export interface GraphBox {
  readonly id: string;
  readonly tags: string;
  readonly parent?: string;
}

export interface ServiceNode extends Pick<GraphNode, 'id' | 'kind' | 'singleton'> {
  readonly box: string;
  readonly key: string;
  readonly feature?: string;
}

export interface ServiceEdge extends GraphEdge {
  readonly problem: boolean;
}

export interface GraphProblem {
  readonly code: string;
  readonly message: string;
  /** The nodes that it is about, from the service that has to change to what is wrong, along the arrows. */
  readonly path: readonly string[];
}

export interface GraphView {
  readonly boxes: readonly GraphBox[];
  readonly nodes: readonly ServiceNode[];
  readonly edges: readonly ServiceEdge[];
  readonly problems: readonly GraphProblem[];
}

export interface OpenScope {
  readonly id: number;
  readonly box: string;
  readonly age: number;
  readonly where?: string;
  readonly request?: number;
}

export interface Now {
  readonly arrived: number;
  /** The numbers of scopes of one kind that are open, and that have leaked; a kind, or box, is written `application > request`. */
  readonly kinds: readonly { readonly box: string; readonly open: number; readonly leaks: number }[];
  /** Those that are open for long, the oldest first. */
  readonly scopes: readonly OpenScope[];
  readonly transactions: Readonly<Record<'open' | Outcome, number>>;
  readonly pool?: PoolNow;
  /** The holders of connections in the last seconds. */
  readonly holders: readonly Share[];
}

export interface PoolNow {
  readonly open: number;
  readonly idle: number;
  readonly waiting: number;
  readonly max?: number;
}

export interface Cause {
  readonly id: string;
  readonly kind: TroubleKind;
  /** One sentence: what happened, and why, without values of the application. */
  readonly cause: string;
  readonly where?: string;
  readonly sql?: string;
  readonly error?: string;
  readonly fix: string;
}

/** A trouble of one cause, seen once or often; the sentence is that of the last time. */
export interface Trouble extends Cause {
  readonly count: number;
  /** The number of those that failed or lost work. */
  readonly failed: number;
  /** The milliseconds that it took in all. */
  readonly lost: number;
  readonly first: number;
  readonly last: number;
  readonly routes: readonly string[];
  readonly requests: readonly number[];
}

/** The outcome of a transaction; of several in one request, that of the last one. */
export type Outcome = 'committed' | 'refused' | 'rolled back' | 'unknown';

export interface RequestSummary {
  /** Unique within a recording; the page and the header `x-debug-token-link` write `<boot>-<id>`. */
  readonly id: number;
  /** The application's own id of the request, where the option `requestIdHeader` names the response header that has it. */
  readonly requestId?: string;
  readonly method: string;
  /** As declared, such as `/api/users/:id`, never the requested path. */
  readonly route: string;
  readonly arrived: number;
  readonly state: 'open' | 'responded' | 'aborted';
  readonly status?: number;
  /** Until the response was complete, or the client disconnected. */
  readonly milliseconds?: number;
  readonly outcome?: Outcome;
  readonly failedAttempts: number;
  readonly open: number;
  readonly statements: number;
  readonly statementMs: number;
  readonly troubles: readonly TroubleKind[];
  readonly trouble: boolean;
}

export type StepKind =
  | 'arrived'
  | 'scope'
  | 'created'
  | 'failed'
  | 'connection'
  | 'no connection'
  | 'begin'
  | 'statement'
  | 'call'
  | 'threw'
  | 'callback failed'
  | 'commit'
  | 'rollback'
  | 'commit unknown'
  | 'finding'
  | 'line'
  | 'responded'
  | 'aborted'
  | 'disposed';

/** One thing that happened; `at` and `took` are milliseconds, counted from the arrival of the request. */
export interface Step {
  readonly kind: StepKind;
  readonly at: number;
  readonly took?: number;
  /** The part of that in which this process could not have noticed its end: it computed, or had no processor. */
  readonly late?: number;
  /** The number of the scope in which it happened; of a scope its own. */
  readonly span?: number;
  /** The kind of a scope, which has no duration while it is open. */
  readonly box?: string;
  readonly key?: string;
  /** The path to a key that could not be resolved: from the key that was asked for, to the one that failed. */
  readonly path?: readonly string[];
  readonly sql?: string;
  readonly outside?: boolean;
  readonly error?: string;
  /** The call or statement that was in progress when a client disconnected; the holders, in a wait for a connection. */
  readonly doing?: string;
  readonly found?: string;
  readonly where?: string;
  readonly known?: true;
  /** The server of a call, whose path may have values. `queued` is how long it waited for one of the sockets of its Agent. */
  readonly host?: string;
  readonly method?: string;
  readonly status?: number;
  readonly sockets?: number;
  readonly queued?: number;
  /** In a wait for a connection: the line of the holder that had one for longest, and below its route. */
  readonly heldAt?: string;
  readonly heldBy?: string;
  readonly shares?: readonly Share[];
  readonly line?: Line;
}

/** For how long requests of a route, at a line, had connections. */
export interface Share {
  readonly name: string;
  readonly where?: string;
  readonly took: number;
}

/** A line of a log or of an audit trail. Its text is what the application wrote, so it may contain values. */
export interface Line {
  /** Its origin, such as `log` or `audit`. */
  readonly source: string;
  /** Such as `info` or `error`. */
  readonly level: string;
  /** The text for the page, up to 2,000 characters. */
  readonly text: string;
}

export interface RequestDetails extends RequestSummary {
  readonly steps: readonly Step[];
  /** The milliseconds since its arrival, where it is in progress or has scopes that are open. */
  readonly elapsed?: number;
  readonly dropped: number;
}

export interface ExplainedRequest extends RequestDetails {
  /** Each with the index in `steps` of the step that shows it. */
  readonly causes: readonly (Cause & { readonly step?: number })[];
}

/** All that a page shows, or, of one that has shown it before, what has changed. */
export interface State {
  /** A new id after each restart, of the process or of the recording. */
  readonly boot: string;
  /** Higher after each change. A page asks for the changes since then. */
  readonly version: number;
  readonly now: Now;
  readonly requests: readonly RequestSummary[];
  /** All of them, where there is a new one, by harm. */
  readonly troubles?: readonly Trouble[];
  /** The numbers of requests that are kept: without trouble, and with trouble. */
  readonly keep: number;
  readonly keepTrouble: number;
  readonly always: boolean;
}
