import { readFileSync } from 'node:fs';
import type { Program } from 'oxc-parser';
import { Project } from './program/project.js';
import { SourceFile } from './program/source-file.js';
import { checks } from './rules/index.js';
import type { Check } from './rules/rule.js';

interface RuleContext {
  readonly filename: string;
  readonly sourceCode: object;
  report(found: { readonly loc: { readonly line: number; readonly column: number }; readonly message: string }): void;
}

interface Rule {
  readonly meta: { readonly type: 'problem'; readonly docs: { readonly description: string }; readonly schema: [] };
  create(context: RuleContext): { Program(): void };
}

interface Plugin {
  readonly meta: { readonly name: string; readonly version: string };
  readonly rules: Record<string, Rule>;
  readonly configs: {
    readonly recommended: { readonly plugins: Record<string, Plugin>; readonly rules: Record<string, 'error'> };
  };
}

const files = new WeakMap<object, SourceFile>();

/** All rules read the same file. */
function fileOf({ filename, sourceCode }: RuleContext): SourceFile {
  const { ast, text } = sourceCode as { readonly ast: Program; readonly text: string };
  const known = files.get(ast);
  if (known) return known;
  const file = new SourceFile(filename, ast, text);
  files.set(ast, file);
  return file;
}

const ruleOf = (check: Check): Rule => ({
  meta: { type: 'problem', docs: { description: check.description }, schema: [] },
  create: (context) => ({
    Program() {
      const file = fileOf(context);
      for (const { node, problem } of check.find(file, new Project([file])))
        context.report({ loc: file.positionOf(node), message: `${problem}. ${check.fix}` });
    },
  }),
});

const { name, version } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as Plugin['meta'];

/**
 * The rules as a plugin of ESLint 9 and 10 and of oxlint.
 *
 * Each rule reads one file at a time. The command `ambit-doctor` runs the same rules and also follows imports between files.
 *
 * @example
 * ```ts
 * // eslint.config.js
 * import doctor from '@ambit/doctor';
 *
 * export default [doctor.configs.recommended];
 * ```
 */
const plugin: Plugin = {
  meta: { name, version },
  rules: Object.fromEntries(checks.map((check) => [check.name, ruleOf(check)])),
  configs: {
    get recommended() {
      return {
        plugins: { ambit: plugin },
        rules: Object.fromEntries(checks.map((check) => [`ambit/${check.name}`, 'error' as const])),
      };
    },
  },
};

// Linters load the default export.
// oxlint-disable-next-line import/no-default-export
export default plugin;
