import { inspect } from 'node:util';
import type { Recording, Step } from '../recording.js';
import { Bindings, type Fresh, paramsOf } from './bindings.js';

/** A statement, or a call of another server, that the handler asks for now. */
export interface Wanted {
  /** The statement as a message names it. */
  readonly text: string;
  /** The values to bind if a recorded step is the same; undefined if it is another. */
  match(step: Step): Fresh[] | undefined;
}

/** Changes nothing, as far as its text says. */
const READ = /^\s*\(?\s*(?:select|with|show|explain|values)\b/i;
const NOT_ONLY_READS =
  /\bfor\s+(?:no\s+key\s+|key\s+)?(?:update|share)\b|\b(?:insert|update|delete|merge|into|nextval|setval|set_config|\w*advisory\w*)\b/i;
const BEGIN = /^(?:begin|start)\b/i;
const CONTROL = /^(?:BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/i;

const LONGEST = 200;

/** A statement in one line, for a message. */
export function shown(sql: string): string {
  const line = sql.replaceAll(/\s+/g, ' ').trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

const SPELLING =
  /'(?:[^']|'')*'|\$(\w*)\$[^]*?\$\1\$|["`](?!(?:user|session_user|current_\w+|localtime\w*)["`])([a-z_][a-z\d_]*)["`]|\s*([(),;])\s*|\s+|\b(?:select|from|where|and|or|not|in|is|null|as|on|join|inner|left|right|outer|cross|order|group|by|having|limit|offset|asc|desc|distinct|insert|into|values|update|set|delete|returning|exists|between|i?like|case|when|then|else|end|union|all|with|conflict|do|nothing|default|using|for|share|skip|locked|count|sum|min|max|avg|coalesce|lower|upper|true|false)\b/gi;

/** Query builders quote names, and write keywords in small letters: the statement is the same. */
function respelled(sql: string): string {
  // A comment ends with its line, and an escaped quote does not end a text.
  if (/\\|--|\/\*/.test(sql)) return sql;
  const one = (all: string, _tag: unknown, name: string | undefined, mark: string | undefined): string => {
    if (name !== undefined) return name === name.toLowerCase() ? name : all;
    if (mark !== undefined) return mark;
    return /^['$]/.test(all) ? all : /^\s/.test(all) ? ' ' : all.toLowerCase();
  };
  return sql.replaceAll(SPELLING, one).trim().replace(/;$/, '');
}

export const isControl = (sql: string): boolean => CONTROL.test(sql);

/** A connection of the replay. */
export class Line {
  /** The recorded connection that it is: its first statement shows that, because a BEGIN is like any other. */
  wire: number | undefined = undefined;
  last: Step | undefined = undefined;
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
  readonly #respelled: readonly string[];
  readonly #leftOut: readonly string[];
  readonly #steps: readonly Step[];
  readonly #used = new Set<Step>();
  /** Lines of which only the BEGIN is known. */
  readonly #begun = new Set<Line>();
  /** The first step of each recorded connection that no line is yet. */
  readonly #firsts = new Map<number, Step>();
  /** Commits, and statements that commit by themselves: reads after them may see other rows. */
  readonly #effects: readonly Step[];
  /** Something was stored that was not in the recording: nobody knows what its statements would give from now on. */
  isChanged = false;

  constructor(recording: Recording) {
    this.bindings = new Bindings(recording);
    this.#texts = recording.texts;
    this.#leftOut = recording.leftOut;
    this.#respelled = recording.texts.map(respelled);
    this.#steps = recording.steps.filter(({ kind }) => kind === 'statement' || kind === 'call');
    this.#effects = this.#effectsOf();
    for (const step of this.#steps)
      if (step.wire !== undefined && !this.#firsts.has(step.wire)) this.#firsts.set(step.wire, step);
  }

  #effectsOf(): Step[] {
    const open = new Set<number>();
    return this.#steps.filter((step) => {
      const { wire } = step;
      const text = this.textOf(step);
      if (wire === undefined || !isControl(text)) return !open.has(wire ?? 0) && !this.#onlyReads(step);
      if (BEGIN.test(text)) open.add(wire);
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
    const text = respelled(sql);
    return {
      text: shown(sql),
      match: (step) => {
        if (step.sql === undefined || this.#respelled[step.sql] !== text) return undefined;
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
    const { wire, last } = line;
    const starts: [number, Step | undefined][] = wire === undefined ? this.#startsOf(last) : [[wire, last]];
    const found = starts.flatMap(([one, after]) => this.#nextOn(one, after, wanted) ?? []);
    const chosen =
      found.find(({ step }) => step.wire === last?.wire) ?? found.find(({ step }) => !this.#used.has(step));
    if (!chosen) return undefined;
    const { step, fresh } = chosen;
    const begins = last === undefined && BEGIN.test(this.textOf(step)) && step.error === undefined;
    if (begins) this.#begun.add(line);
    else if (wire === undefined) this.#settle(line, step);
    line.last = step;
    this.#use(step, fresh);
    return step;
  }

  /** Each recorded connection that a line may be, and the step after which it goes on there. */
  #startsOf(begin: Step | undefined): [number, Step | undefined][] {
    if (!begin) return Array.from(this.#firsts.keys(), (wire) => [wire, undefined]);
    return [...this.#firsts].filter(([, first]) => first.sql === begin.sql && first.error === undefined);
  }

  /** The line is the connection of that step. Another one that has begun there began where this line did. */
  #settle(line: Line, { wire = 0 }: Step): void {
    const { last: begin } = line;
    const first = this.#firsts.get(wire);
    const other = Array.from(this.#begun).find((one) => one.last === first);
    if (begin && first && begin !== first && !other) {
      this.#used.delete(begin);
      this.#used.add(first);
    } else if (other) other.last = begin;
    this.#begun.delete(line);
    this.#firsts.delete(wire);
    line.wire = wire;
  }

  difference(text: string, sql: string, params: readonly unknown[] | undefined, at: Step | undefined): string {
    const lacks = this.#leftOut.length === 0 ? '' : `; it lacks ${this.#leftOut.join(', ')}`;
    if (!at) return `wanted ${text}, and the recording has nothing more${lacks}`;
    const recorded = this.textOf(at);
    const step = `step ${this.numberOf(at)}: wanted ${text}`;
    if (respelled(recorded) !== respelled(sql)) return `${step}, the recording has ${shown(recorded)}`;
    const own = paramsOf(at) ?? [];
    const i = own.findIndex((one, index) => !this.bindings.match(one, params?.[index], at));
    if (this.isChanged) return `${step} after something was stored that is not in the recording`;
    if (i === -1) return `${step} not in the order of the recording`;
    return `${step} with $${i + 1} = ${inspect(params?.[i])}, the recording has ${inspect(own[i])}`;
  }

  /** The next step that nobody has taken, for a message, and for a COMMIT in place of a ROLLBACK. */
  nextOf(line: Line | undefined): Step | undefined {
    const wire = line?.wire ?? line?.last?.wire;
    return this.#steps.find((step) => !this.#used.has(step) && (wire === undefined || step.wire === wire));
  }

  /** Marks a step as over, because another statement has taken its place. */
  pass(line: Line, step: Step): void {
    this.#used.add(step);
    line.last = step;
  }

  #nextOn(wire: number, after: Step | undefined, wanted: Wanted): { step: Step; fresh: Fresh[] } | undefined {
    for (const step of this.#steps) {
      if (step.wire !== wire || step.asked <= (after?.asked ?? 0)) continue;
      const fresh = wanted.match(step);
      if (fresh && this.#isInOrder(step)) return { step, fresh };
      if (!this.#onlyReads(step)) return undefined;
    }
    return undefined;
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
