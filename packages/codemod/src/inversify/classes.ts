import type { ClassDeclaration } from 'ts-morph';
import { convertConstructor } from '../core/classes/constructor.js';
import { decoratorsOf, isInjected, nameOf } from '../core/classes/decorators.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { readParameter } from './parameters.js';

/** Removes `@injectable()`, and converts the parameters of the constructor. */
export function convertClass(rewriter: Rewriter, declaration: ClassDeclaration): void {
  const decorators = decoratorsOf(rewriter, declaration);
  if (decorators.size === 0 && !isInjected(rewriter, declaration)) return;
  const injectable = decorators.get('injectable');
  if (injectable) {
    if (injectable.getArguments().length > 0)
      rewriter.check(
        injectable,
        '@injectable with a scope',
        'name the lifetime in the registration: .pipe(singleton())',
      );
    rewriter.remove(injectable);
    rewriter.done('@injectable', nameOf(injectable));
    for (const argument of injectable.getArguments()) rewriter.consume(argument);
  }
  convertConstructor(rewriter, declaration, (found) => readParameter(rewriter, found));
}
