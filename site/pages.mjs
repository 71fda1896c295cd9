// Which page of the site comes from which file of the repository.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

const AT_TOP = {
  'site/index.md': 'index.md',
  'README.md': 'readme.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'ARCHITECTURE.md': 'architecture.md',
  'SECURITY.md': 'security.md',
  '.changeset/README.md': 'changesets.md',
  'docs/README.md': 'documentation.md',
  'service/README.md': 'service.md',
  'examples/README.md': 'examples.md',
  'bench/results.md': 'benchmarks.md',
};

/** The files of the repository that are pages, with the path of each in the site; it grows with what the pages link to. */
export class Pages {
  /** @type {Map<string, string>} */
  #paths = new Map();
  #root;

  /** @param {string} root of the repository */
  constructor(root) {
    this.#root = root;
    for (const [source, path] of Object.entries(AT_TOP)) this.#paths.set(source, path);
    for (const folder of readdirSync(join(root, 'packages'))) {
      if (existsSync(join(root, 'packages', folder, 'package.json')))
        this.#paths.set(`packages/${folder}/README.md`, `packages/${folder}.md`);
    }
    for (const file of readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })) {
      const source = `docs/${file}`;
      if (file.endsWith('.md') && !this.#paths.has(source))
        this.#paths.set(source, file.replace('README.md', 'index.md'));
    }
  }

  /** Also what is added while it is read. @returns {MapIterator<[source: string, path: string]>} */
  all() {
    return this.#paths.entries();
  }

  /**
   * Where a link of a page leads. What is linked to becomes a page, also a program or a folder.
   * @param {string} from the file with the link
   * @param {string} link
   */
  resolve(from, link) {
    const [file = '', anchor] = link.split('#');
    const named = file === '' ? from : posix.join(dirname(from), file).replace(/\/$/, '');
    const readme = posix.join(named, 'README.md');
    const source = this.#isFolder(named) && existsSync(join(this.#root, readme)) ? readme : named;
    return `/${this.#pathOf(source)}${anchor === undefined ? '' : `#${anchor}`}`;
  }

  /** @param {string} source */
  #pathOf(source) {
    const known = this.#paths.get(source);
    if (known !== undefined) return known;
    const path = source.endsWith('.md') ? source : `source/${source.replaceAll('.', '-')}.md`;
    this.#paths.set(source, path);
    return path;
  }

  /** @param {string} source */
  #isFolder(source) {
    return statSync(join(this.#root, source)).isDirectory();
  }
}
