import { Node, type CallExpression, type PropertyAccessExpression } from 'ts-morph';
import { SEE_TABLE } from '../core/advice.js';
import { replaceMethod } from '../core/calls/methods.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { METHODS, REGISTRATION } from './advice.js';
import { registrationOf } from './registration.js';
import { convertToken, isTokenName } from './tokens.js';

/** Converts a call of a method of the container or of a token. */
export function convertCall(rewriter: Rewriter, call: CallExpression): void {
  const called = call.getExpression();
  if (!Node.isPropertyAccessExpression(called)) return;
  if (isTokenName(called.getExpression())) {
    convertToken(rewriter, call, called);
    return;
  }
  if (!rewriter.containers.has(called.getExpression())) return;
  const method = called.getName();
  const args = call.getArguments();
  switch (method) {
    case 'add':
    case 'addRegistration':
      convertAdd(rewriter, call, called);
      return;
    case 'createScope': {
      const [first] = args;
      if (first && !Node.isObjectLiteralExpression(first)) {
        const tags = args.map((one) => rewriter.text(one)).join(', ');
        replaceMethod(rewriter, call, called, `createScope({ tags: [${tags}] })`);
      }
      rewriter.done('container.createScope');
      return;
    }
    case 'resolve':
      if (args.length === 1) rewriter.done('container.resolve');
      else
        rewriter.leave(
          call,
          'container.resolve with arguments',
          'a factory of your own that is injected, and called with the arguments',
        );
      return;
    case 'dispose':
    case 'hasTag':
      rewriter.done(`container.${method}`);
      return;
    default:
      rewriter.leave(call, `container.${method}`, METHODS[method] ?? SEE_TABLE);
  }
}

/** Converts the registrations that `add` gets, if all of them can be converted. */
function convertAdd(rewriter: Rewriter, call: CallExpression, called: PropertyAccessExpression): void {
  const all = call.getArguments().map((argument) => ({ argument, text: registrationOf(rewriter, argument) }));
  const left = all.filter(({ text }) => text === undefined);
  for (const { argument } of left)
    rewriter.leave(argument, 'registration', rewriter.adviceWithin(argument, REGISTRATION));
  if (left.length > 0) return;
  for (const { argument, text } of all) {
    if (text !== undefined) rewriter.replace(argument, text);
    rewriter.done('Registration', argument);
  }
  rewriter.replace(called.getNameNode(), 'addRegistration');
}
