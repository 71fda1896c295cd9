// Runs the probe on a page whose policy forbids code from text, inline scripts and every other origin.
import { createServer } from 'node:http';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';

const { outputFiles } = await build({
  stdin: {
    contents: `import { probe } from './probe.js';
probe().then((said) => { document.title = said; }, (error) => { document.title = String(error); });`,
    resolveDir: import.meta.dirname,
  },
  bundle: true,
  minify: true,
  write: false,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
});
const server = createServer((req, res) => {
  const isScript = req.url === '/app.js';
  res.writeHead(200, {
    'content-type': isScript ? 'text/javascript' : 'text/html',
    'content-security-policy': "default-src 'none'; script-src 'self'",
  });
  res.end(
    isScript ? outputFiles[0].text : '<!doctype html><title></title><script type="module" src="/app.js"></script>',
  );
});
await new Promise((resolve) => void server.listen(0, '127.0.0.1', resolve));
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium-headless-shell' });
try {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction('document.title !== ""');
  console.log(await page.title());
} finally {
  await browser.close();
  server.close();
}
