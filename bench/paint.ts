/** Measures how soon a browser shows the pages of an actor, beside a screen of text without style from a bare server. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openPage, type WatchedPage } from '../test/support/browser.ts'
import { createOwner } from './pages.ts'
import { startServer } from './process.ts'
import type { Line } from './report.ts'
import type { Subject } from './subject.ts'

/** Maximum time from the navigation to the first contentful paint. */
const maxMs = 100
/** Loads of each page. The median counts. */
const loads = 15

const pages: Readonly<Record<string, string>> = {
  'first paint: the overview': '/www',
  'first paint: 21 properties': '/www/properties',
  'first paint: a list of 50 items': '/www/properties/notes',
  'first paint: a connection': '/www/trust/bench-peer',
}

export async function measurePaint(store: string, subject: Subject): Promise<Line[]> {
  const server = await startServer('troupe', subject)
  const bare = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end(`<!doctype html><title>Text</title><p>${'text '.repeat(3000)}`),
  )
  await new Promise<void>((listens) => bare.listen(0, '127.0.0.1', listens))
  try {
    const { actor, token } = await createOwner(server.port)
    const url = `http://127.0.0.1:${server.port}`
    const page = await openPage({ viewport: { width: 1280, height: 860 } })
    await page.context().addCookies([{ name: 'oauth_token', value: token, url }])
    const bound = await firstPaint(page, `http://127.0.0.1:${(bare.address() as AddressInfo).port}/`)
    const lines: Line[] = []
    for (const [what, path] of Object.entries(pages)) {
      const shown = await firstPaint(page, `${url}/${actor.id}${path}`)
      lines.push({
        store,
        what,
        measured: `${Math.round(shown)} ms`,
        bound: `${Math.round(bound)} ms for text alone`,
        ratio: null,
        aim: `≤ ${maxMs} ms`,
        met: shown <= maxMs,
      })
    }
    await page.context().browser()?.close()
    return lines
  } finally {
    bare.close()
    await server.stop()
  }
}

/** Waits for the paint, which may come after the page is loaded. */
const paintTime = `new Promise((painted) => {
  const look = () => {
    const [paint] = performance.getEntriesByName('first-contentful-paint')
    if (paint === undefined) requestAnimationFrame(look)
    else painted(paint.startTime)
  }
  look()
})`

/** Resolves when the browser has drawn the page and has nothing to do. */
const drawn = `new Promise((isDrawn) =>
  requestIdleCallback(() => requestAnimationFrame(() => requestIdleCallback(() => isDrawn()))))`

/**
 * Returns the median time from the navigation to the first contentful paint, in milliseconds. Each load begins when the page
 * before is drawn: otherwise, the browser would draw two pages in the measured time.
 */
async function firstPaint(page: WatchedPage, url: string): Promise<number> {
  const times: number[] = []
  for (let load = 0; load < loads; load += 1) {
    await page.goto(url)
    times.push(Number(await page.evaluate(paintTime)))
    await page.evaluate(drawn)
  }
  times.sort((a, b) => a - b)
  return times[Math.floor(loads / 2)] ?? Number.NaN
}
