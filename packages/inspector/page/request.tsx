import type { JSX } from 'preact';
import { BAD } from '../src/kinds.js';
import type { ExplainedRequest, RequestDetails, RequestSummary, Step } from '../src/wire.js';
import { Badge, badgeOf, CauseCard, Sql } from './parts.js';
import { clock, duration, colorOf, depthOf, type Mark, marksOf, stateMark, wordsOf, times } from './words.js';

/** One request in a line: when, which, and how it came out. */
export function Summary({ request }: { readonly request: RequestSummary }): JSX.Element {
  const { method, route, milliseconds, arrived } = request;
  return (
    <>
      <span class="hint">{clock(arrived)}</span>
      <code>{method}</code>
      <span>{route}</span>
      <Badge {...stateMark(request)} />
      <span class="took">{milliseconds !== undefined && duration(milliseconds)}</span>
      <span class="chips">{marksOf(request).map(badgeOf)}</span>
    </>
  );
}

/** Everything about one request, from what went wrong to each of its steps. @param at - the id of the trouble to look at */
export function RequestView({ request, at }: { request: ExplainedRequest; at?: string | undefined }): JSX.Element {
  const { steps, causes } = request;
  const cause = causes.find(({ id }) => id === at) ?? causes[0];
  return (
    <div class="request-view stack">
      <h2 class="chips">
        <Summary request={request} />
      </h2>
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

type Fold = [Step, ...Step[]];

/** Steps that are alike, as an N+1 sends them, are one: sixty equal rows hide the others. */
function foldSteps(steps: readonly Step[]): Fold[] {
  const runs: Fold[] = [];
  for (const step of steps) {
    const run = runs.at(-1);
    const isSent = step.kind === 'statement' || step.kind === 'call';
    const isAlike = FOLDED_BY.every((fact) => run?.[0][fact] === step[fact]);
    if (run && isSent && isAlike) run.push(step);
    else runs.push([step]);
  }
  return runs;
}

const FOLDED_BY = ['kind', 'sql', 'host', 'span', 'error'] as const;

/** The steps of a request in order. @param at - the step to look at */
function Waterfall({ request, at }: { request: RequestDetails; at: Step | undefined }): JSX.Element {
  const { steps, milliseconds, elapsed = 0, dropped } = request;
  const ends = steps.map((step) => step.at + (step.took ?? 0));
  // A scope that leaked is open for as long as it takes: the axis is that of the request.
  const length = Math.max(...ends, milliseconds ?? elapsed, 0.01);
  return (
    <>
      <div class="waterfall" role="table" aria-label="What happened, in order">
        {foldSteps(steps).map((fold, i) => (
          <Row key={i} request={request} fold={fold} length={length} isAt={at !== undefined && fold.includes(at)} />
        ))}
      </div>
      {dropped > 0 && <p class="hint">and {times(dropped, 'more step')}, which were not kept</p>}
    </>
  );
}

interface RowProps {
  readonly request: RequestDetails;
  /** The steps that it stands for. */
  readonly fold: Fold;
  readonly length: number;
  readonly isAt: boolean;
}

function Row({ request, fold, length, isAt }: RowProps): JSX.Element {
  const [step] = fold;
  const { kind, at, span, sql, error, where, outside, doing } = step;
  const { box = '' } =
    request.steps.find((one) => one.kind === 'scope' && one.span === span && span !== undefined) ?? {};
  const last = fold.at(-1) ?? step;
  const isOpen = kind === 'scope' && last.took === undefined;
  const took = (isOpen ? length : last.at + (last.took ?? 0)) - at;
  const [name, text] = wordsOf(step, request);
  const mood = moodOf(step, request.status);
  const color = mood === undefined && box !== '' ? colorOf(box) : undefined;
  return (
    <div
      class="row"
      role="row"
      data-kind={kind}
      data-mood={mood}
      data-at={isAt ? '' : undefined}
      style={{ '--depth': String(depthOf(box)), '--color': color }}
    >
      <span class="label" role="cell">
        {fold.length > 1 && <b>{fold.length}×</b>}
        {name !== undefined && <b>{name}</b>}
        {text}
        {outside && <Badge text="outside" />}
        {sql !== undefined && <Sql text={sql} />}
        {error !== undefined && <em>{error}</em>}
        {doing !== undefined && <span class="hint">{doing}</span>}
        {where !== undefined && <code>{where}</code>}
      </span>
      <i class="bar" role="cell" style={{ '--at': String(at / length), '--took': String(took / length) }} />
      <span class="took" role="cell">
        {took > 0 && duration(took)}
      </span>
    </div>
  );
}

/** The mood of a step: good or bad news. */
function moodOf({ kind, error, heldBy, status: its = 0 }: Step, status = 0): Mark['mood'] {
  if (kind === 'commit') return 'good';
  // To roll back and respond with a status of 4xx is what the application has decided.
  if (kind === 'rollback' && status >= 400 && status < 500) return undefined;
  if (error !== undefined || its >= 500 || BAD.has(kind)) return 'bad';
  return heldBy === undefined ? undefined : 'warn';
}
