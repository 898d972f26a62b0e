import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it, type TestContext } from 'node:test'
import { openPage } from '../support/browser.ts'

/** Starts a server for the test, and returns its URL. */
async function listen(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('a test reads a page when all of it has arrived, also after a click', async (t) => {
  const items = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, index) => `<p id="item-${from + index}">Item ${from + index}</p>`).join('')
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const url = await listen(t, (request, response) => {
    response.setHeader('Content-Type', 'text/html')
    if (request.url !== '/list') return void response.end('<a href="/list">The list</a>')
    response.write(`<!doctype html><main>${items(0, 34)}`)
    void released.then(() => response.end(items(34, 50)))
  })
  const page = await openPage()
  await page.goto(url)
  await page.getByRole('link').click()
  // A wait for one element does not need the whole page.
  await page.locator('#item-33').waitFor()
  const readings = [
    page.locator('p').count(),
    page.locator('#item-49').isVisible(),
    page.evaluate('document.querySelectorAll("p").length'),
  ]
  await page.locator('#item-33').waitFor()
  release()
  assert.deepEqual(await Promise.all(readings), [50, true, 50])
})

it('a test clicks when the script that handles the click has run', async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const url = await listen(t, (request, response) => {
    if (request.url === '/slow.js') {
      response.setHeader('Content-Type', 'text/javascript')
      return void released.then(() =>
        response.end(`document.querySelector('button').onclick = () => document.body.append('Clicked')`),
      )
    }
    response.setHeader('Content-Type', 'text/html')
    response.end(
      '<!doctype html><link rel="icon" href="data:,"><script src="/slow.js" defer></script><button>Go</button>',
    )
  })
  const page = await openPage()
  await page.goto(url, { waitUntil: 'commit' })
  const button = page.getByRole('button')
  const click = button.click()
  await button.hover()
  release()
  await click
  await page.getByText('Clicked').waitFor()
})

it('a test does not complain about what a page still loads when the browser leaves the page', async (t) => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const url = await listen(t, (request, response) => {
    if (request.url === '/slow.js') return ask()
    if (request.url === '/broken.js') {
      request.socket.destroy()
      return
    }
    const pageWith = (script: string): string =>
      `<!doctype html><link rel="icon" href="data:,"><script src="/${script}.js" defer></script>`
    response.setHeader('Content-Type', 'text/html')
    // The rest of the first page never arrives.
    if (request.url === '/') response.write(pageWith('slow'))
    else response.end(pageWith('broken'))
  })
  const page = await openPage()
  await page.goto(url, { waitUntil: 'commit' })
  await asked
  await page.goto(`${url}/next`)
  assert.deepEqual(page.complaints, [
    `${url}/broken.js: net::ERR_EMPTY_RESPONSE`,
    'Failed to load resource: net::ERR_EMPTY_RESPONSE',
  ])
})

it('a test complains about a page that the server does not finish, and about one without an answer', async (t) => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<() => void>()
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const url = await listen(t, (request, response) => {
    if (request.url === '/silent') return ask()
    response.setHeader('Content-Type', 'text/html')
    response.write('<!doctype html><link rel="icon" href="data:,"><p>The first part</p>')
    begin(() => request.socket.destroy())
  })
  const page = await openPage()
  await page.goto(url, { waitUntil: 'commit' })
  const failed = page.waitForEvent('requestfailed')
  const cut = await begun
  cut()
  await failed
  const silent = page.waitForEvent('requestfailed')
  const navigation = assert.rejects(page.goto(`${url}/silent`), /ERR_ABORTED|interrupted/)
  await asked
  await page.goto('about:blank')
  await Promise.all([silent, navigation])
  assert.deepEqual(
    page.complaints.filter((complaint) => complaint.startsWith(url)),
    [`${url}/: net::ERR_INCOMPLETE_CHUNKED_ENCODING`, `${url}/silent: net::ERR_ABORTED`],
  )
})
