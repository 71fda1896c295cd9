import { Node, type ClassDeclaration } from 'ts-morph';
import { registration } from '../core/ambit/registrations.js';
import { convertConstructor } from '../core/classes/constructor.js';
import { decoratorsOf, isInjected, nameOf } from '../core/classes/decorators.js';
import { isMarked } from '../core/rewriter/marks.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { REGISTRATION } from './advice.js';
import { readParameter } from './parameters.js';
import { planOf } from './plan.js';

const KEPT_PER_SCOPE =
  'one instance for the container it is added to; ts-ioc-container keeps one in each scope that resolves it: add scope(hasTag(...)) for that';

/** The decorators of a class become a registration after it. */
export function convertClass(rewriter: Rewriter, declaration: ClassDeclaration): void {
  const decorators = decoratorsOf(rewriter, declaration);
  if (isInjected(rewriter, declaration))
    convertConstructor(rewriter, declaration, (found) => readParameter(rewriter, found), { byType: false });
  if (decorators.size === 0) return;
  const plan = planOf(rewriter, declaration);
  if (!plan) {
    for (const [name, decorator] of decorators)
      rewriter.leave(decorator, `@${name}`, rewriter.adviceWithin(decorator, REGISTRATION));
    return;
  }
  for (const [name, decorator] of decorators) {
    rewriter.remove(decorator);
    rewriter.done(`@${name}`, nameOf(decorator), decorator);
  }
  const { modifiers } = plan;
  const isSingleton = modifiers.some((one) => isMarked(one, 'singleton'));
  if (isSingleton && !modifiers.some((one) => isMarked(one, 'scope')))
    rewriter.check(declaration, 'singleton()', KEPT_PER_SCOPE);
  const made = registration(rewriter, { source: `fromClass(${declaration.getName()})`, modifiers }, plan.key);
  const indent = rewriter.style.indentAt(declaration.getStart());
  const exported = Node.isSourceFile(declaration.getParent()) && declaration.isExported() ? 'export ' : '';
  rewriter.insert(
    declaration.getEnd(),
    `\n${indent}${exported}const ${plan.name} = ${made}${rewriter.style.semicolon}`,
  );
}
