import { readFileSync } from 'node:fs';
import { expect } from '@playwright/test';
import { test } from './isolated-test.js';

const html = readFileSync(new URL('page.html', import.meta.url), 'utf8');
const tests = Number(process.env['TESTS'] ?? 48);

test.beforeEach(async ({ page }) => {
  // The page is of the service's own origin, and its requests are real.
  await page.route('**/users-page', (route) => route.fulfill({ contentType: 'text/html', body: html }));
});

for (let number = 1; number <= tests; number += 1) {
  test(`test ${number} sees its own users only`, async ({ page }) => {
    const names = ['Ada', `User ${number}`, 'Grace'];
    await page.goto('/users-page');
    await expect(page.locator('body[data-shown="0"]')).toBeVisible();
    for (const name of names) {
      await page.getByLabel('Name').fill(name);
      await page.getByRole('button', { name: 'Add' }).click();
      await expect(page.getByRole('listitem').filter({ hasText: name })).toHaveCount(1);
    }
    await page.reload();
    await expect(page.getByRole('listitem')).toHaveText(names);
  });
}
