import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { diagnose } from '../diagnostics.mjs';

const OPTIONS = {
  composite: false,
  declaration: false,
  declarationMap: false,
  inlineSources: false,
  moduleDetection: 'force',
  noUnusedLocals: false,
  noUnusedParameters: false,
  sourceMap: false,
};

/** @param {import('./extract.mjs').Example} example */
const hasDecorators = ({ code }) => /^\s*(?:constructor\()?@\w+/m.test(code);

/**
 * A scratch folder inside the workspace, where examples find the packages under their own names.
 * Every page is a program of its own, so that two pages may say different things about the same `ServiceMap` key;
 * one call of the compiler builds them all.
 */
export class Workshop {
  /** @type {import('../diagnostics.mjs').Diagnostic[]} */
  #diagnostics = [];
  #folder;
  #root;

  /** @param {string} root */
  constructor(root) {
    this.#root = root;
    mkdirSync(join(root, '.cache'), { recursive: true });
    this.#folder = mkdtempSync(join(root, '.cache/docs-'));
  }

  /** @param {import('./pages.mjs').Page[]} pages */
  compile(pages) {
    for (const page of pages) {
      mkdirSync(this.#folderOf(page));
      this.#linkDependencies(page);
      for (const example of page.examples) writeFileSync(`${this.#pathOf(page, example)}.ts`, example.code);
      this.#writeConfig(this.#folderOf(page), {
        extends: '../../../tsconfig.base.json',
        // What has no decorators runs without a compiler, so it must have nothing else that needs one.
        compilerOptions: { ...OPTIONS, erasableSyntaxOnly: !page.examples.some(hasDecorators) },
        files: page.examples.map((example) => `line-${example.line}.ts`),
      });
    }
    const references = pages.map((page) => ({ path: this.#folderOf(page) }));
    this.#writeConfig(this.#folder, { files: [], references });
    this.#diagnostics = diagnose('typescript', ['-b', this.#folder]);
    const elsewhere = this.#diagnostics.filter(({ file }) => !file.startsWith(this.#folder));
    if (elsewhere.length > 0) throw new Error(elsewhere.map(({ message }) => message).join('\n'));
  }

  /**
   * @param {import('./pages.mjs').Page} page
   * @param {import('./extract.mjs').Example} example
   */
  complaints(page, example) {
    const file = `${this.#pathOf(page, example)}.ts`;
    return this.#diagnostics
      .filter((diagnostic) => diagnostic.file === file)
      .map(({ line, message }) => `${page.path}:${line} ${message}`);
  }

  /**
   * Runs the example as it is written, where Node removes the types by itself; else what the compiler made of it.
   * @param {import('./pages.mjs').Page} page
   * @param {import('./extract.mjs').Example} example
   */
  run(page, example) {
    const extension = Reflect.get(process.features, 'typescript') && !hasDecorators(example) ? 'ts' : 'js';
    const args = ['--disable-warning=ExperimentalWarning', `${this.#pathOf(page, example)}.${extension}`];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    return { status, stdout, stderr };
  }

  close() {
    rmSync(this.#folder, { recursive: true });
  }

  /**
   * What npm has not hoisted, an example finds as the package does.
   * @param {import('./pages.mjs').Page} page
   */
  #linkDependencies(page) {
    const [dependencies] = /^packages\/[^/]+\//.exec(page.path) ?? [];
    if (dependencies)
      symlinkSync(join(this.#root, dependencies, 'node_modules'), join(this.#folderOf(page), 'node_modules'));
  }

  /** @param {import('./pages.mjs').Page} page */
  #folderOf(page) {
    return join(this.#folder, page.path.replaceAll('/', '-'));
  }

  /**
   * @param {import('./pages.mjs').Page} page
   * @param {import('./extract.mjs').Example} example
   */
  #pathOf(page, example) {
    return join(this.#folderOf(page), `line-${example.line}`);
  }

  /**
   * @param {string} folder
   * @param {object} config
   */
  #writeConfig(folder, config) {
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  }
}
