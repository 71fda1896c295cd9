import { inspect } from 'node:util';
import type { Recording, Step } from '../recording.js';
import { Bindings, type Fresh, paramsOf } from './bindings.js';

/** A statement, or a call of another server, that the handler asks for now. */
export interface Wanted {
  /** As a message names it. */
  readonly text: string;
  /** Whether a recorded step is the same; then what has to be bound. */
  match(step: Step): Fresh[] | undefined;
}

/** Changes nothing, as far as its text says. */
const READ = /^\s*\(?\s*(?:select|with|show|explain|values)\b/i;
const NOT_ONLY_READS =
  /\bfor\s+(?:no\s+key\s+|key\s+)?(?:update|share)\b|\b(?:insert|update|delete|merge|into|nextval|setval|set_config|\w*advisory\w*)\b/i;
const CONTROL = /^(?:BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/i;

const LONGEST = 200;

/** A statement in one line, for a message. */
export function shown(sql: string): string {
  const line = sql.replaceAll(/\s+/g, ' ').trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

export const isControl = (sql: string): boolean => CONTROL.test(sql);

/** A connection of the replay: which of the recorded ones it is shows only in its statements. */
export class Line {
  /** What it has taken of each connection that it may be. The first is the one that counts. */
  candidates: Map<number, Step[]> | undefined = undefined;
  isLost = false;
  outside: boolean | undefined = undefined;
}

/**
 * The recorded steps, each given once. A statement is the recorded one with the same text and parameters, in the order that had an effect: what had
 * finished before it must have been asked for, unless it only read, and nothing that came after it.
 */
export class Statements {
  readonly bindings: Bindings;
  readonly #texts: readonly string[];
  readonly #steps: readonly Step[];
  readonly #used = new Set<Step>();
  readonly #lines: Line[] = [];
  readonly #refusals: readonly Step[];
  /** What others read after them is another: commits, and what commits by itself. */
  readonly #effects: readonly Step[];
  /** Something was stored that was not in the recording: nobody knows what its statements would give from now on. */
  isChanged = false;

  constructor(recording: Recording) {
    this.bindings = new Bindings(recording);
    this.#texts = recording.texts;
    this.#refusals = recording.steps.filter(({ kind }) => kind === 'connect');
    this.#steps = recording.steps.filter(({ kind }) => kind === 'statement' || kind === 'call');
    this.#effects = this.#effectsOf();
  }

  #effectsOf(): Step[] {
    const open = new Set<number>();
    return this.#steps.filter((step) => {
      const { wire } = step;
      const text = this.textOf(step);
      if (wire === undefined || !isControl(text)) return !open.has(wire ?? 0) && !this.#onlyReads(step);
      if (/^(?:begin|start)/i.test(text)) open.add(wire);
      else if (/^(?:commit|rollback(?! to))\b/i.test(text)) open.delete(wire);
      return /^commit/i.test(text) && step.error === undefined;
    });
  }

  get used(): number {
    return this.#used.size;
  }

  /** The place of a step in the recording, from 1 on, as messages name it. */
  numberOf(step: Step): number {
    return this.#steps.indexOf(step) + 1;
  }

  textOf({ sql, name, url }: Step): string {
    return sql === undefined ? `${name} ${url}` : (this.#texts[sql] ?? '');
  }

  wanted(sql: string, params: readonly unknown[] | undefined): Wanted {
    return {
      text: shown(sql),
      match: (step) => {
        if (step.sql === undefined || this.#texts[step.sql] !== sql) return undefined;
        // One whose parameters were left out is known by its text: it gives no rows, and says so.
        return step.leftOut && !step.params ? [] : this.bindings.match(paramsOf(step), params, step);
      },
    };
  }

  /** A step of no connection: a single read of SQLite, or a call. */
  takeAlone(wanted: Wanted): Step | undefined {
    for (const step of this.#steps) {
      if (step.wire !== undefined || this.#used.has(step)) continue;
      const fresh = wanted.match(step);
      if (!fresh || !this.#isInOrder(step)) continue;
      this.#use(step, fresh);
      return step;
    }
    return undefined;
  }

  take(line: Line, wanted: Wanted): Step | undefined {
    if (!line.candidates) {
      const wires = this.#steps.flatMap(({ wire }) => wire ?? []);
      line.candidates = new Map(Array.from(new Set(wires), (wire) => [wire, []]));
      this.#lines.push(line);
    }
    const found = Array.from(line.candidates, ([wire, taken]) => {
      const next = this.#nextOn(wire, taken, wanted);
      return next && { wire, taken, ...next };
    }).filter((one) => one !== undefined);
    // One that nobody has yet, if there is one.
    const isFree = (wire: number): boolean => this.#lines.every((other) => other === line || firstOf(other) !== wire);
    const chosen = found.find(({ wire }) => isFree(wire)) ?? found.find(({ wire }) => this.#exchange(line, wire));
    if (!chosen) return undefined;
    const isSame = (one: Step): boolean =>
      isControl(this.textOf(one)) && one.error === undefined && chosen.step.error === undefined;
    const others = found.filter((one) => one !== chosen && isSame(one.step) && isSame(chosen.step));
    this.#hold(line, chosen.wire);
    line.candidates = new Map([chosen, ...others].map(({ wire, taken, step }) => [wire, [...taken, step]]));
    // Only its rows decide which connection it is, and then no other is that one.
    if (others.length === 0) for (const other of this.#lines) if (other !== line) other.candidates?.delete(chosen.wire);
    this.#use(chosen.step, chosen.fresh);
    return chosen.step;
  }

  /** The recorded refusal of a connection, where everything that came before it has been asked for. */
  takeRefusal(): Step | undefined {
    const refusal = this.#refusals.find((step) => !this.#used.has(step));
    if (!refusal || !this.#steps.every((step) => step.asked > refusal.asked || this.#used.has(step))) return undefined;
    this.#used.add(refusal);
    return refusal;
  }

  difference(text: string, sql: string, params: readonly unknown[] | undefined, at: Step | undefined): string {
    if (!at) return `wanted ${text}, and the recording has nothing more`;
    const recorded = this.textOf(at);
    const step = `step ${this.numberOf(at)}: wanted ${text}`;
    if (recorded !== sql) return `${step}, the recording has ${shown(recorded)}`;
    const own = paramsOf(at) ?? [];
    const i = own.findIndex((one, index) => !this.bindings.match(one, params?.[index], at));
    if (this.isChanged) return `${step} after something was stored that is not in the recording`;
    if (i === -1) return `${step} not in the order of the recording`;
    return `${step} with $${i + 1} = ${inspect(params?.[i])}, the recording has ${inspect(own[i])}`;
  }

  /** What the recording has at this place, for a message, and for a COMMIT in place of a ROLLBACK. */
  nextOf(line: Line | undefined): Step | undefined {
    const wire = line && firstOf(line);
    return this.#steps.find((step) => !this.#used.has(step) && (wire === undefined || step.wire === wire));
  }

  /** It is over: another statement has taken its place. */
  pass(line: Line, step: Step): void {
    this.#used.add(step);
    const wire = firstOf(line);
    if (wire !== undefined) line.candidates?.get(wire)?.push(step);
  }

  #nextOn(wire: number, taken: readonly Step[], wanted: Wanted): { step: Step; fresh: Fresh[] } | undefined {
    const last = taken.at(-1)?.asked ?? 0;
    for (const step of this.#steps) {
      if (step.wire !== wire || step.asked <= last) continue;
      const fresh = wanted.match(step);
      if (fresh && this.#isInOrder(step)) return { step, fresh };
      if (!this.#onlyReads(step)) return undefined;
    }
    return undefined;
  }

  /** Another line counts as this connection, and may as well be one of those that this line counts as. */
  #exchange(line: Line, wire: number): boolean {
    const other = this.#lines.find((one) => one !== line && firstOf(one) === wire);
    const own = firstOf(line);
    const free = [...(other?.candidates?.keys() ?? [])].find(
      (one) => one !== wire && (one === own || this.#lines.every((each) => firstOf(each) !== one)),
    );
    if (!other || free === undefined) return false;
    this.#hold(line, undefined);
    this.#hold(other, free);
    return true;
  }

  /** Lets a connection count as the line's own, with what the line has taken of it. */
  #hold(line: Line, wire: number | undefined): void {
    const { candidates } = line;
    const before = firstOf(line);
    if (!candidates || before === wire) return;
    for (const step of (before === undefined ? undefined : candidates.get(before)) ?? []) this.#used.delete(step);
    const taken = wire === undefined ? undefined : candidates.get(wire);
    if (wire === undefined || !taken) return;
    for (const step of taken) this.#used.add(step);
    candidates.delete(wire);
    line.candidates = new Map([[wire, taken], ...candidates]);
  }

  #isInOrder(step: Step): boolean {
    const { asked, settled = Infinity } = step;
    if (this.isChanged && !isControl(this.textOf(step))) return false;
    return this.#effects.every((other) => {
      if (other === step) return true;
      return this.#used.has(other) ? other.asked < settled : (other.settled ?? Infinity) > asked;
    });
  }

  #onlyReads(step: Step): boolean {
    if (step.kind === 'call') return step.name === 'GET' || step.name === 'HEAD';
    const text = this.textOf(step);
    return READ.test(text) && !NOT_ONLY_READS.test(text);
  }

  #use(step: Step, fresh: readonly Fresh[]): void {
    this.bindings.bind(fresh);
    this.#used.add(step);
  }
}

/** The connection that a line counts as, once it has taken anything. */
function firstOf({ candidates }: Line): number | undefined {
  const [first] = candidates ?? [];
  return first && first[1].length > 0 ? first[0] : undefined;
}
