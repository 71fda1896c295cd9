import type { JSX } from 'preact';
import { BAD } from '../src/kinds.js';
import type { ExplainedRequest, RequestDetails, Step } from '../src/wire.js';
import { Badge, badgeOf, CauseCard, Place, Sql } from './parts.js';
import { clock, duration, lastOf, lifetimeOf, type Mark, marksOf, stateMark, stepName, times } from './words.js';

/** Everything about one request, from what went wrong to each of its steps. @param at - the id of the trouble to look at */
export function RequestView({ request, at }: { request: ExplainedRequest; at?: string | undefined }): JSX.Element {
  const { method, route, milliseconds, arrived, steps, causes } = request;
  const cause = causes.find(({ id }) => id === at) ?? causes[0];
  const marks: Mark[] = [
    stateMark(request),
    { text: milliseconds === undefined ? 'in progress' : duration(milliseconds), mood: '' },
    ...marksOf(request),
  ];
  return (
    <div class="request-view">
      <header>
        <h2>
          <span class="method">{method}</span> {route}
        </h2>
        <p class="chips">
          {marks.map(badgeOf)}
          <span class="hint">at {clock(arrived)}</span>
        </p>
      </header>
      {causes.map((one) => (
        <CauseCard key={one.id} {...one} />
      ))}
      {request.recording !== undefined && (
        <p>
          Keep as a test: <code>npx ambit replay {request.recording} --write</code>
        </p>
      )}
      <Waterfall request={request} at={cause?.step === undefined ? undefined : steps[cause.step]} />
    </div>
  );
}

type Fold = readonly [Step, ...Step[]];

/** So many steps in a row that are alike are one row. */
const FOLDED = 5;

/** Folds what an N+1 sends into one: sixty rows that are alike hide the others. */
function foldSteps(steps: readonly Step[]): Fold[] {
  const runs: [Step, ...Step[]][] = [];
  for (const step of steps) {
    const run = runs.at(-1);
    const { kind, sql, host, span } = run?.[0] ?? {};
    const isSame = step.kind === kind && step.sql === sql && step.host === host && step.span === span;
    if (run && isSame && (kind === 'statement' || kind === 'call')) run.push(step);
    else runs.push([step]);
  }
  return runs.flatMap((run): Fold[] => (run.length >= FOLDED ? [run] : run.map((step): Fold => [step])));
}

/** The steps of a request in order. @param at - the step to look at */
function Waterfall({ request, at }: { request: RequestDetails; at: Step | undefined }): JSX.Element {
  const { steps, milliseconds, elapsed = 0, dropped } = request;
  const ends = steps.map((step) => step.at + (step.took ?? 0));
  // A scope that leaked is open for as long as it takes: the axis is that of the request.
  const length = Math.max(...ends, milliseconds ?? elapsed, 0.01);
  return (
    <>
      <div class="waterfall" role="table" aria-label="What happened, in order">
        {foldSteps(steps).map((fold, i) => {
          const [first, ...others] = fold;
          const { at: from, took = 0 } = others.at(-1) ?? first;
          const step = others.length === 0 ? first : { ...first, took: from + took - first.at };
          const isAt = at !== undefined && fold.includes(at);
          return <Row key={i} request={request} step={step} times={fold.length} length={length} isAt={isAt} />;
        })}
      </div>
      {dropped > 0 && <p class="hint">and {times(dropped, 'more step')}, which were not kept</p>}
    </>
  );
}

interface RowProps {
  readonly request: RequestDetails;
  readonly step: Step;
  /** The number of steps that it stands for. */
  readonly times: number;
  readonly length: number;
  readonly isAt: boolean;
}

function Row({ request, step, times: often, length, isAt }: RowProps): JSX.Element {
  const { steps, status } = request;
  const { kind, at, span, sql, error, where, outside, doing } = step;
  const { box } = steps.find((one) => one.kind === 'scope' && one.span === span && span !== undefined) ?? {};
  const isOpen = kind === 'scope' && step.took === undefined;
  const took = isOpen ? length - at : (step.took ?? 0);
  const name = kind === 'scope' && box !== undefined ? `${lastOf(box)} scope` : stepName(step, request);
  const text = textOf(step, stateMark(request).text);
  return (
    <div
      class="row"
      role="row"
      data-kind={kind}
      data-mood={moodOf(step, status) || undefined}
      data-lifetime={box === undefined ? undefined : lifetimeOf(box)}
      data-at={isAt ? '' : undefined}
      style={{ '--depth': String((box?.split(' > ').length ?? 1) - 1) }}
    >
      <span class="label" role="cell" title={[name, text, sql, error, where].filter(Boolean).join(' ')}>
        {often > 1 && <b>{often}×</b>}
        {name !== '' && <b>{name}</b>}
        {text !== '' && <span>{text}</span>}
        {outside && <Badge text="outside" mood="" />}
        {sql !== undefined && <Sql text={sql} />}
        {error !== undefined && <em>{error}</em>}
        {doing !== undefined && <span class="hint">{doing}</span>}
        {where !== undefined && <Place where={where} />}
      </span>
      <span class="track" role="cell">
        <i class="bar" style={{ '--at': String(at / length), '--took': String(took / length) }} />
      </span>
      <span class="took" role="cell">
        {took > 0 ? duration(took) : ''}
      </span>
    </div>
  );
}

/** The mood of a step: good or bad news. */
function moodOf({ kind, error, heldBy, status: its = 0 }: Step, status = 0): Mark['mood'] {
  if (kind === 'commit') return 'good';
  // To roll back and respond with a status of 4xx is what the application has decided.
  if (kind === 'rollback' && status >= 400 && status < 500) return '';
  if (error !== undefined || its >= 500 || BAD.has(kind)) return 'bad';
  return heldBy === undefined ? '' : 'warn';
}

function textOf({ kind, key = '', path = [], ...step }: Step, state: string): string {
  if (kind === 'responded') return state;
  if (kind === 'call') return [step.method, step.host, step.status].filter(Boolean).join(' ');
  if (kind === 'failed' && path.length > 1) return path.join(' → ');
  return key;
}
