/** Operates a page with a pointer, or with the keyboard alone. */
import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'

export interface Hands {
  /** Activates a link, a button, a summary or a choice. */
  press(target: Locator): Promise<void>
  /** Replaces the content of the field. */
  type(target: Locator, text: string): Promise<void>
}

export const pointer: Hands = {
  press: (target) => target.click(),
  type: (target, text) => target.fill(text),
}

/** Moves the focus with Tab alone, and requires a visible focus at each stop. */
export const keyboard: Hands = {
  async press(target) {
    const type = await target.getAttribute('type')
    if (type === 'radio') return choose(target)
    await reach(target)
    // Unlike the keyboard of the page, this waits for the beginning of the page that the key opens, as a click does.
    await target.press(type === 'checkbox' ? 'Space' : 'Enter')
  },
  async type(target, text) {
    await reach(target)
    await target.page().keyboard.press('Control+A')
    await target.page().keyboard.type(text)
  },
}

/** Selects a radio button: a radio group is one stop for Tab, and arrow keys move inside the group. */
async function choose(target: Locator): Promise<void> {
  const name = await target.getAttribute('name')
  await reach(target.page().locator(`input[type=radio][name="${name}"]:checked`))
  for (let step = 0; step < maxSteps && !(await target.isChecked()); step += 1)
    await target.page().keyboard.press('ArrowDown')
  assert.equal(await target.isChecked(), true)
}

const maxSteps = 200

async function reach(target: Locator): Promise<void> {
  await target.waitFor()
  const page = target.page()
  for (let step = 0; step < maxSteps; step += 1) {
    if (await isFocused(target)) return assertVisible(page)
    await page.keyboard.press('Tab')
    await assertVisible(page)
  }
  assert.fail(`Cannot reach ${String(target)} with the keyboard`)
}

async function isFocused(target: Locator): Promise<boolean> {
  return (await target.and(target.page().locator(':focus')).count()) === 1
}

async function assertVisible(page: Page): Promise<void> {
  const seen = (await page.evaluate(`(() => {
    const at = document.activeElement
    if (at === null || at === document.body || at.tabIndex < 0) return null
    const { outlineStyle, outlineWidth } = getComputedStyle(at)
    return [outlineStyle, outlineWidth, at.textContent.trim().slice(0, 40)]
  })()`)) as [string, string, string] | null
  if (seen === null) return
  assert.deepEqual(seen.slice(0, 2), ['solid', '3px'], `The focus on “${seen[2]}” is not visible`)
}
