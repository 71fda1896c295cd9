import type { JSX } from 'preact';
import type { RequestDetails, RequestSummary, Step } from '../../src/wire.js';
import { duration, lastOf, nameOfFinding } from '../format.js';
import type { Replay, ReplayState } from './replay.js';

/** What is shown now: the words, and whether they are good or bad news. */
interface Words {
  readonly who?: RequestSummary;
  readonly said: string;
  readonly isCode?: boolean;
  readonly aside?: string;
  readonly mood?: 'bad' | 'good' | '';
}

/** The line that explains the current step of a replay, with the buttons that play it and the bar that shows how far it is. */
export function Caption({ replay }: { readonly replay: Replay }): JSX.Element {
  const state = replay.state.value;
  const { request, position, playing, following, newer } = state;
  const { who, said, isCode, aside, mood = '' } = wordsOf(state, replay.slower);
  const length = request?.steps.length ?? 0;
  return (
    <div class="caption card" data-mood={mood}>
      <div class="words">
        {who && (
          <span class="who" title={`${who.method} ${who.route}`}>
            {who.method} {who.route}
          </span>
        )}
        {isCode ? <code class="said">{said}</code> : <strong class="said">{said}</strong>}
        <span class="aside">{aside}</span>
      </div>
      <div class="player" role="group" aria-label="Replay" inert={!request && !newer}>
        <button class={following ? 'newest away' : 'newest'} onClick={() => replay.newest()}>
          Newest
        </button>
        <IconButton icon="back" disabled={!request || position === 0} act={() => replay.step(-1)} />
        <IconButton icon={playing ? 'pause' : 'play'} act={() => replay.toggle()} />
        <IconButton icon="forward" disabled={request !== undefined && position >= length} act={() => replay.step(1)} />
      </div>
      <input
        type="range"
        class="scrub"
        aria-label="Step of the request"
        aria-valuetext={`${position} of ${length}: ${said}`}
        min="0"
        max={length}
        value={request ? position : 0}
        inert={!request}
        onInput={({ currentTarget }) => replay.seek(Number(currentTarget.value))}
      />
    </div>
  );
}

const ICONS = {
  back: ['Step back', 'M3 3h2v10H3z M13 3v10L6 8z'],
  forward: ['Step forward', 'M11 3h2v10h-2z M3 3v10l7-5z'],
  pause: ['Pause', 'M4 3h3v10H4z M9 3h3v10H9z'],
  play: ['Play', 'M4 2.5v11L13 8z'],
} as const;

function IconButton(props: { icon: keyof typeof ICONS; act: () => void; disabled?: boolean }): JSX.Element {
  const { icon, act, disabled } = props;
  const [label, path] = ICONS[icon];
  return (
    <button class="icon" aria-label={label} title={label} disabled={disabled} onClick={act}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={path} />
      </svg>
    </button>
  );
}

function wordsOf({ request, position, newer }: ReplayState, slower: number): Words {
  if (!request) {
    // For users who want less motion nothing plays by itself.
    if (newer) return { who: newer, said: 'Play it, or go through it step by step.' };
    return { said: 'Waiting for a request', aside: 'Send one, and watch which services it creates and disposes.' };
  }
  const step = request.steps[position];
  if (!step) return afterwards(request);
  return {
    who: request,
    said: sentence(request, step),
    isCode: step.kind === 'statement',
    aside: `${duration(step.at)} · slowed down ${slower.toLocaleString('en')}×`,
    mood: newsOf(step),
  };
}

function afterwards(request: RequestDetails): Words {
  const left = request.spans.filter(({ closed }) => closed === undefined).map(({ box }) => lastOf(box));
  const isOpen = request.state === 'open';
  const said = isOpen
    ? 'It is still in progress.'
    : left.length > 0
      ? `The response was sent, and ${left.length === 1 ? `a ${left[0]} scope is` : `${left.length} scopes are`} still open.`
      : 'Its scopes are disposed. The application singletons stay.';
  const aside = `${duration(request.milliseconds ?? request.elapsed ?? 0)} in all`;
  return { who: request, said, aside, mood: left.length > 0 && !isOpen ? 'bad' : '' };
}

/** Whether a step is good or bad news. */
export function newsOf({ kind, error }: Step): 'bad' | 'good' | '' {
  if (kind === 'commit') return 'good';
  const bad = ['rollback', 'aborted', 'no connection', 'failed', 'threw', 'commit unknown', 'finding'];
  return error !== undefined || bad.includes(kind) ? 'bad' : '';
}

/** A step in one sentence, for somebody who sees it for the first time. */
function sentence(
  { spans, milliseconds, status }: RequestDetails,
  { kind, key = '', path = [], span, sql = '', error, found = '', where = '', host = '', line }: Step,
): string {
  const scope = span === undefined ? 'application' : lastOf(spans[span]?.box ?? '');
  const why = error === undefined ? '' : ` (${error})`;
  const sentences: Record<Step['kind'], string> = {
    arrived: 'A request arrives',
    'scope opened': `A ${scope} scope opens`,
    created:
      span === undefined ? `${key} is created, once for the application` : `${key} is created, for this ${scope} only`,
    failed: `${path.length > 1 ? path.join(' → ') : key} could not be created${why}`,
    connection: 'A connection is checked out of the pool',
    'no connection': `No connection can be acquired${why}`,
    begin: 'BEGIN',
    statement: `${sql}${why}`,
    call: `${host} is asked${why}`,
    threw: `The handler fails${why}`,
    commit: 'COMMIT: everything is stored',
    rollback: `ROLLBACK: nothing is stored${why}`,
    'commit unknown': `Nobody knows whether it was stored${why}`,
    finding: `Transaction check: ${nameOfFinding(found)} ${where && `at ${where}`}`,
    line: `${line?.source ?? ''} ${line?.level ?? ''}: ${line?.text ?? ''}`,
    responded: `The response is sent: ${status ?? ''} after ${duration(milliseconds ?? 0)}`,
    aborted: 'The client has disconnected',
    disposed: error === undefined ? `${key} is disposed` : `${key} failed to dispose${why}`,
    'scope closed': `The ${scope} scope is disposed, and its services with it`,
  };
  return sentences[kind];
}
