// The code in documents: reads it, compiles it and runs it.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { diagnose } from './on-node.mjs';

/**
 * A piece of documentation that must compile: one or more fenced blocks of a page, kept at their own line numbers,
 * so that what the compiler says about line 12 is true of line 12 of the page.
 * @typedef {object} Example
 * @property {number} line where its first block opens
 * @property {string} code
 * @property {boolean} runs
 * @property {string | undefined} prints what it must print, if the page says so
 */

/**
 * Reads the fences of a Markdown page: ```ts compiles, ```ts run also runs, ```ts continued goes on where the block
 * before it ended, and a ```text right behind a block that runs is what it prints. A block marked `integrations` or
 * `prisma` needs packages that only test/libraries/ or test/orm/prisma/ has: there it is one of those that run. One marked
 * `tutorial` is a file of the tutorial, whose steps tools/try.mjs follows.
 * @param {string} markdown
 * @param {{ only?: 'integrations' | 'prisma' }} [options] to give those with this mark, and no others
 * @returns {Example[]}
 */
export function examplesIn(markdown, { only } = {}) {
  /** @type {Example[]} */
  const examples = [];
  let previousRuns = false;
  for (const { line, language, words, body } of fencesIn(markdown)) {
    const last = examples.at(-1);
    if (language === 'text' && previousRuns && last) last.prints = (last.prints ?? '') + body;
    const mark = words.find((word) => ['integrations', 'prisma', 'tutorial'].includes(word));
    const isAsked = language === 'ts' && mark === only;
    const runs = only !== undefined || words.includes('run') || (words.includes('continued') && !!last?.runs);
    previousRuns = isAsked && runs;
    if (!isAsked) continue;
    if (words.includes('continued')) {
      if (!last) throw new Error(`line ${line}: nothing to continue`);
      last.code = padTo(line, last.code) + body;
      last.runs ||= previousRuns;
    } else {
      examples.push({ line, code: padTo(line, '') + body, runs: previousRuns, prints: undefined });
    }
  }
  return examples;
}

/**
 * The documentation comments of a source file as a page, line by line; everything else becomes an empty line.
 * @param {string} source
 * @returns {string}
 */
export function commentsOf(source) {
  let inside = false;
  return source
    .split('\n')
    .map((line) => {
      if (/^\s*\/\*\*/.test(line)) inside = true;
      const text = inside ? line.replace(/^\s*(\/\*\*|\*\/|\* ?)/, '').replace(/\s*\*\/.*$/, '') : '';
      if (line.includes('*/')) inside = false;
      return text;
    })
    .join('\n');
}

/** All fenced blocks of a page, in order. @param {string} markdown */
export function fencesIn(markdown) {
  /** @type {{ fence: string, line: number, language: string, words: string[], body: string }[]} */
  const fences = [];
  let open = false;
  for (const [index, text] of markdown.split('\n').entries()) {
    const [, fence = '', info = ''] = /^ {0,3}(`{3,})([^`]*)$/.exec(text) ?? [];
    const current = fences.at(-1);
    if (open && current) {
      if (fence.length >= current.fence.length && info.trim() === '') open = false;
      else current.body += `${text}\n`;
    } else if (fence) {
      const [language = '', ...words] = info.trim().split(/\s+/);
      fences.push({ fence, line: index + 1, language, words, body: '' });
      open = true;
    }
  }
  return fences;
}

/** @param {number} line @param {string} code */
function padTo(line, code) {
  return code + '\n'.repeat(Math.max(0, line - code.split('\n').length + 1));
}

/**
 * @typedef {object} Page
 * @property {string} path relative to the repository
 * @property {string} markdown
 * @property {Example[]} examples
 */

/**
 * Everything a reader may copy code from: the Markdown pages, and the documentation comments of the packages.
 * @param {string} root
 * @returns {Promise<Page[]>}
 */
export async function pagesOf(root) {
  const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`);
  const markdown = [
    'README.md',
    'site/index.md',
    'service/README.md',
    ...packages.flatMap((folder) => [`${folder}/README.md`, ...filesIn(root, `${folder}/skills`, '.md')]),
    ...filesIn(root, 'docs', '.md'),
  ];
  const comments = await Promise.all(packages.map((folder) => commentPagesOf(root, folder)));
  return [
    ...markdown.filter((path) => existsSync(join(root, path))).map((path) => markdownPage(root, path)),
    ...comments.flat(),
  ];
}

/** @param {string} root @param {string} path @returns {Page} */
function markdownPage(root, path) {
  const markdown = readFileSync(join(root, path), 'utf8');
  return { path, markdown, examples: examplesIn(markdown) };
}

/** @param {string} root @param {string} folder @returns {Promise<Page[]>} */
async function commentPagesOf(root, folder) {
  const { name, exports } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const importLine = '.' in exports ? `import { ${Object.keys(await import(name)).join(', ')} } from '${name}';` : '';
  return filesIn(root, `${folder}/src`, '.ts').map((path) => {
    const markdown = commentsOf(readFileSync(join(root, path), 'utf8'));
    return { path, markdown, examples: examplesIn(markdown).map((example) => withImport(example, name, importLine)) };
  });
}

/**
 * An example in a comment may leave out the import of its own package.
 * @param {Example} example
 * @param {string} name
 * @param {string} importLine
 */
function withImport(example, name, importLine) {
  return example.code.includes(`from '${name}'`) ? example : { ...example, code: importLine + example.code };
}

/** @param {string} root @param {string} folder @param {string} ending @returns {string[]} */
function filesIn(root, folder, ending) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesIn(root, path, ending);
    return path.endsWith(ending) ? [path] : [];
  });
}

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

/** @param {Example} example */
const hasDecorators = ({ code }) => /^\s*(?:constructor\()?@\w+/m.test(code);

/** A package, or those of a scope such as `@types`. @param {string} modules @param {string} name */
const packagesIn = (modules, name) =>
  name.startsWith('@') ? readdirSync(join(modules, name)).map((each) => `${name}/${each}`) : [name];

/**
 * A scratch folder inside the workspace, where examples find the packages under their own names.
 * Every page is a program of its own, so that two pages may say different things about the same `ServiceMap` key;
 * one call of the compiler builds them all.
 */
export class Workshop {
  /** @type {import('./on-node.mjs').Diagnostic[]} */
  #diagnostics = [];
  #folder;
  #root;

  /** @param {string} root */
  constructor(root) {
    this.#root = root;
    mkdirSync(join(root, '.cache'), { recursive: true });
    this.#folder = mkdtempSync(join(root, '.cache/docs-'));
  }

  /** @param {Page[]} pages */
  compile(pages) {
    for (const page of pages) {
      mkdirSync(this.#folderOf(page));
      this.#linkDependencies(page);
      for (const example of page.examples) writeFileSync(`${this.#pathOf(page, example)}.ts`, example.code);
      this.#writeConfig(this.#folderOf(page), {
        extends: '../../../tsconfig.base.json',
        // A program without decorators runs without a compiler, so nothing else in it may need one.
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
   * @param {Page} page
   * @param {Example} example
   */
  complaints(page, example) {
    const file = `${this.#pathOf(page, example)}.ts`;
    return this.#diagnostics
      .filter((diagnostic) => diagnostic.file === file)
      .map(({ line, message }) => `${page.path}:${line} ${message}`);
  }

  /**
   * Runs the example as it is written, where Node removes the types by itself; else what the compiler made of it.
   * @param {Page} page
   * @param {Example} example
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
   * Lets an example find the dependencies that npm has not hoisted, as the package does; those of `docs/` find what recipes use.
   * @param {Page} page
   */
  #linkDependencies(page) {
    const [owner] = /^packages\/[^/]+\//.exec(page.path) ?? [];
    const target = join(this.#folderOf(page), 'node_modules');
    if (owner) return symlinkSync(join(this.#root, owner, 'node_modules'), target);
    // Not what both have: two copies of Kysely have types that do not fit each other.
    const recipes = join(this.#root, 'examples/recipes/node_modules');
    for (const name of readdirSync(recipes).flatMap((each) => packagesIn(recipes, each))) {
      if (existsSync(join(this.#root, 'node_modules', name))) continue;
      mkdirSync(join(target, name, '..'), { recursive: true });
      symlinkSync(join(recipes, name), join(target, name));
    }
  }

  /** @param {Page} page */
  #folderOf(page) {
    return join(this.#folder, page.path.replaceAll('/', '-'));
  }

  /**
   * @param {Page} page
   * @param {Example} example
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
