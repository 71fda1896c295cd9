import type { Rewriter } from '../rewriter/rewriter.js';

/** How a service is made, as an argument of `Registration`: `fromClass(Users)`. */
export interface Service {
  readonly source: string;
  readonly modifiers: readonly string[];
}

/** `Registration.fromClass(Users).pipe(singleton()).to('users')`; without `.to` where the class is the key. */
export const registration = (rewriter: Rewriter, { source, modifiers }: Service, key: string | undefined): string =>
  `${rewriter.use('Registration')}.${source}${suffix(modifiers, key)}`;

/** `.pipe(singleton()).to('users')`, after the beginning of a registration. */
function suffix(modifiers: readonly string[], key: string | undefined): string {
  const piped = modifiers.length > 0 ? `.pipe(${modifiers.join(', ')})` : '';
  return key === undefined ? piped : `${piped}.to(${key})`;
}

/** `addRegistration(...)`, with each of several registrations on a line of its own. */
export function addRegistration(registrations: readonly string[], indent: string): string {
  const list =
    registrations.length === 1
      ? registrations.join('')
      : `\n${registrations.map((one) => `${indent}  ${one},\n`).join('')}${indent}`;
  return `addRegistration(${list})`;
}
