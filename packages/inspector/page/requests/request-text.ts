import type { RequestDetails, Step } from '../../src/wire.js';
import { duration, lastOf, nameOfFinding } from '../format.js';
import { statementGroups } from './statement-groups.js';

/** A request in plain text, for an issue or a chat. */
export function requestText(request: RequestDetails, ref: string): string {
  const { method, route, state, status, milliseconds, elapsed = 0, outcome, steps, spans } = request;
  const took = milliseconds === undefined ? `in progress for ${duration(elapsed)}` : duration(milliseconds);
  const groups = statementGroups(request).map(
    ({ sql, steps: alike, totalMs }) => `  ${alike.length}x ${duration(totalMs)}  ${sql}`,
  );
  const lines = steps.map((step) => `  ${duration(step.at).padStart(9)}  ${stepText(step, request)}`);
  const leaks = spans.flatMap(({ box, where }) =>
    where ? [`A ${lastOf(box)} scope leaked, opened at ${where.join(', ')}`] : [],
  );
  return [
    `${method} ${route}`,
    [status ?? state, took, outcome, ref].filter(Boolean).join(', '),
    ...leaks,
    ...(groups.length > 0 ? ['', 'Statements', ...groups] : []),
    '',
    'Steps',
    ...lines,
    '',
  ].join('\n');
}

/** The command that sends such a request: values of the original are not known, so each parameter is to be filled in. */
export function curlSkeleton({ method, route }: RequestDetails, origin: string): string {
  const parts = ['curl'];
  if (method !== 'GET') parts.push('-X', method);
  if (['POST', 'PUT', 'PATCH'].includes(method)) parts.push("-H 'content-type: application/json'", "-d '{}'");
  return [...parts, quoted(origin + route)].join(' ');
}

/** In single quotes, which leave every character as it is. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function stepText(step: Step, { spans, status }: RequestDetails): string {
  const { kind, span, key, path = [], sql, error, found, where, took, outside, line } = step;
  const scope = span === undefined ? undefined : spans[span];
  const isScope = kind === 'scope opened' || kind === 'scope closed';
  const parts = [
    isScope ? `${lastOf(scope?.box ?? '')} ${kind}` : kind,
    outside && '(outside of a transaction)',
    kind === 'responded' && status !== undefined && String(status),
    line && `${line.source} ${line.level}: ${line.text}`,
    path.length > 1 ? path.join(' -> ') : key,
    found !== undefined && nameOfFinding(found),
    sql,
    error,
    took !== undefined && `[${duration(took)}]`,
    where !== undefined && `at ${where}`,
  ];
  return parts.filter(Boolean).join(' ');
}
