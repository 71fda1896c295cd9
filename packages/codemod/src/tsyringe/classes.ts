import type { ClassDeclaration } from 'ts-morph';
import { addRegistration } from '../core/ambit/registrations.js';
import { convertConstructor } from '../core/classes/constructor.js';
import { decoratorsOf, nameOf } from '../core/classes/decorators.js';
import type { Program } from '../core/model.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { ADVICE } from './advice.js';
import { registrationsOf } from './class-decorators.js';
import { readParameter } from './parameters.js';

/** The decorators of a class become registrations after it. */
export function convertClass(rewriter: Rewriter, declaration: ClassDeclaration, program: Program): void {
  const decorators = decoratorsOf(rewriter, declaration);
  if (decorators.size === 0) return;
  if (decorators.has('autoInjectable')) return;
  const own = declaration.getName();
  const after: string[] = [];
  for (const [name, decorator] of decorators) {
    const registered = own === undefined ? undefined : registrationsOf(rewriter, name, decorator, own);
    if (!registered) {
      const scope = decorator.getArguments()[0];
      const text = `@${name}`;
      rewriter.leave(
        decorator,
        text,
        ADVICE[(scope && rewriter.origin(scope)) ?? name] ?? 'register the class with Registration',
      );
      continue;
    }
    after.push(...registered);
    rewriter.remove(decorator);
    rewriter.done(`@${name}`, nameOf(decorator));
    for (const argument of decorator.getArguments())
      if (rewriter.origin(argument) !== undefined) rewriter.consume(argument);
  }
  convertConstructor(rewriter, declaration, (found) => readParameter(rewriter, found));
  if (after.length === 0) return;
  const indent = declaration.getIndentationText();
  const container = rewriter.use('container', program.globalModule);
  rewriter.insert(
    declaration.getEnd(),
    `\n${indent}${container}.${addRegistration(after, indent)}${rewriter.style.semicolon}`,
  );
}
