import type { Rewriter } from '../rewriter/rewriter.js';

/** One instance for the container that the service is registered in. */
export const singleton = (rewriter: Rewriter): string => `${rewriter.use('singleton')}()`;

/** The modifiers of one instance for each scope with the tag. */
export const scoped = (rewriter: Rewriter, tag = 'request'): string[] => [
  singleton(rewriter),
  `${rewriter.use('scope')}(${rewriter.use('hasTag')}(${rewriter.style.string(tag)}))`,
];

/** How `scoped` differs from a service that is scoped in another library. */
export const SCOPED = "available in scopes with the tag 'request' only; resolving it in the application is an error";
