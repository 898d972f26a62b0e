import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { ConfigError, html, type PageCall, troupe } from '../../src/index.ts'
import { templateNames } from '../../src/features/pages.ts'
import { testing } from '../../src/testing.ts'
import { sqliteService, type StartOptions } from '../support/service.ts'
import { asBrowser, OwnersBrowser } from '../support/sessions.ts'

const start = sqliteService()

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-pages-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function write(files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

async function open(
  options: StartOptions,
): Promise<{ browser: OwnersBrowser; id: string; service: Awaited<ReturnType<typeof start>> }> {
  const service = await start(options)
  const actor = await service.createActor()
  await actor.request('POST', '/properties', { color: '<b>blue</b>', notes: { _type: 'list' } })
  await actor.request('POST', '/properties/notes', '"first"')
  return { service, browser: await OwnersBrowser.open(service, actor), id: actor.id }
}

const page = async (answer: Promise<Response>): Promise<[number, string]> => {
  const { status, headers, text } = await answer.then(async (it) => ({
    status: it.status,
    headers: it.headers,
    text: await it.text(),
  }))
  assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
  assert.match(headers.get('content-security-policy') ?? '', /script-src http:\/\/[^ ]+\/assets\/;/)
  return [status, text]
}

describe('application-defined templates', () => {
  it('replace the built-in pages by name, and receive the same values (R-WEB-02)', async () => {
    write({
      'aw-actor-www-root.html':
        '{{ id }} {{ url }} {{ actor_root }} {{ actor_www }} {{ creator }} {{ property_count }} {{ list_count }} {{ passphrase | size }}',
      'aw-actor-www-init.html': 'init {{ actor_www }}',
      'aw-actor-www-properties.html':
        '{% for p in properties %}{{ p[0] }}={{ p[1] }};{% endfor %}{{ list_properties | join: "," }}',
      'aw-actor-www-property.html':
        '{{ property }}|{{ value }}|{{ raw_value }}|{{ qual }}|{{ is_list_property }}|{% for item in list_items %}{{ item }}{% endfor %}',
      'aw-root-failed.html': '{{ status_code }} {{ error }}',
      'aw-root-factory.html': '{{ base_path }} {{ oauth_enabled }} {{ error }}',
      'aw-root-created.html': '{{ id | size }} {{ creator }} {{ passphrase | size }}',
    })
    const { browser, id, service } = await open({
      templates: folder,
      baseUrl: 'http://troupe.test/under',
      localSignIn: false,
    })
    const root = `/under/${id}`
    assert.deepEqual(await page(browser.get('')), [
      200,
      `${id} http://troupe.test${root}/www ${root} ${root}/www creator@example.com 1 1 40`,
    ])
    assert.deepEqual(await page(browser.get('/init')), [200, `init ${root}/www`])
    assert.deepEqual(await page(browser.get('/properties')), [
      200,
      'color=&lt;b&gt;blue&lt;/b&gt;;notes=[List · 1 item];notes',
    ])
    assert.deepEqual(await page(browser.get('/properties/color')), [
      200,
      'color|&lt;b&gt;blue&lt;/b&gt;|&lt;b&gt;blue&lt;/b&gt;|a|false|',
    ])
    assert.deepEqual(await page(browser.get('/properties/notes')), [200, 'notes|[List · 1 item]||a|true|first'])
    assert.deepEqual(await page(browser.get('/properties/absent')), [
      404,
      '404 There’s no property called “absent”. It may have been deleted.',
    ])
    assert.deepEqual(await page(service.request('/')), [200, '/under false '])
    const form = {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'creator=new@example.com',
    }
    assert.deepEqual(await page(service.request('/', form)), [200, '32 new@example.com 40'])
  })

  it('have a name for every page (R-WEB-02)', () => {
    assert.deepEqual(
      Object.values(templateNames).filter((name) => !/^aw-[a-z-]+\.html$/.test(name)),
      [],
    )
    assert.equal(new Set(Object.values(templateNames)).size, Object.values(templateNames).length)
    assert.equal(templateNames.factory, 'aw-root-factory.html')
    assert.equal(templateNames.created, 'aw-root-created.html')
    assert.equal(templateNames.failed, 'aw-root-failed.html')
    assert.equal(templateNames.dashboard, 'aw-actor-www-root.html')
    assert.equal(templateNames.init, 'aw-actor-www-init.html')
    assert.equal(templateNames.properties, 'aw-actor-www-properties.html')
    assert.equal(templateNames.property, 'aw-actor-www-property.html')
  })

  it('escape their values in text and in attributes, unless a template requests raw output (WEB-01)', async () => {
    write({
      'aw-actor-www-property.html': '<p title="{{ value }}">{{ value }}</p>{{ value | upcase }}{{ value | raw }}',
    })
    const { browser } = await open({ templates: folder })
    await browser.send('/properties/color', { value: `"><script>x('&')</script>`, value_type: 'text' })
    const safe = `&quot;&gt;&lt;script&gt;x(&#39;&amp;&#39;)&lt;/script&gt;`
    const [, text] = await page(browser.get('/properties/color'))
    assert.equal(
      text.replaceAll('&#34;', '&quot;'),
      `<p title="${safe}">${safe}</p>&quot;&gt;&lt;SCRIPT&gt;X(&#39;&amp;&#39;)&lt;/SCRIPT&gt;"><script>x('&')</script>`,
    )
  })

  it('share layouts and partials, and a form with the CSRF token is accepted (R-WEB-02)', async () => {
    write({
      'frame.html': '<main>{% block content %}{% endblock %}</main>',
      'parts/form.html': '<form><input name="csrf_token" value="{{ token }}"></form>',
      'aw-actor-www-init.html':
        '{% layout "frame.html" %}{% block content %}{% render "parts/form.html", token: csrf_token %}{% endblock %}',
    })
    const { browser } = await open({ templates: folder })
    const [, text] = await page(browser.get('/init'))
    const [, token = ''] =
      /^<main><form><input name="csrf_token" value="([\w-]{43})"><\/form><\/main>$/.exec(text) ?? []
    const taken = await browser.send('/properties', { property_name: 'x', property_value: 'y', csrf_token: token }, {})
    assert.equal(taken.status, 302)
  })

  it('yield to page functions, and leave the other pages unchanged (R-WEB-02)', async () => {
    write({ 'aw-actor-www-root.html': 'template', 'aw-actor-www-init.html': 'template' })
    const { browser } = await open({ templates: folder, pages: { dashboard: () => html`function` } })
    assert.deepEqual(await page(browser.get('')), [200, 'function'])
    assert.deepEqual(await page(browser.get('/init')), [200, 'template'])
    assert.match((await page(browser.get('/properties')))[1], /<h1>Properties<\/h1>/)
  })

  const broken: readonly (readonly [what: string, text: string, message: RegExp])[] = [
    [
      'a tag that is not closed',
      '<p>{% if id %}</p>',
      /^Cannot use template sub\/broken\.html: tag \{% if id %\} not closed, .*line:1/,
    ],
    [
      'an output that is not closed',
      '<p>\n{{ id </p>',
      /^Cannot use template sub\/broken\.html: output "\{\{ id <\/p>" not closed, .*line:2/,
    ],
    ['an unknown tag', '{% nothing %}', /^Cannot use template sub\/broken\.html: tag "nothing" not found/],
    ['an unknown filter', '{{ id | nothing }}', /^Cannot use template sub\/broken\.html: undefined filter: nothing/],
    [
      'a partial that does not exist',
      '{% render "absent.html" %}',
      /^Cannot use template sub\/broken\.html: it needs "absent\.html", which does not exist\.$/,
    ],
    [
      'a layout that does not exist',
      '{% layout "absent.html" %}',
      /^Cannot use template sub\/broken\.html: it needs "absent\.html", which does not exist\.$/,
    ],
  ]
  for (const [what, text, message] of broken) {
    it(`prevent the start with a message for ${what} (R-WEB-02)`, async () => {
      write({ 'aw-actor-www-root.html': 'good', 'sub/broken.html': text })
      await assert.rejects(start({ templates: folder }), (error: unknown) => {
        assert.ok(error instanceof ConfigError)
        assert.match(error.message, message)
        assert.ok(!error.message.includes(folder), error.message)
        assert.ok(!error.message.includes('\n'))
        return true
      })
    })
  }

  it('prevent the start when their folder cannot be read (R-WEB-02)', async () => {
    write({ file: 'x' })
    for (const path of [join(folder, 'absent'), join(folder, 'file')]) {
      await assert.rejects(start({ templates: path }), (error: unknown) => {
        assert.ok(error instanceof ConfigError)
        assert.match(error.message, /^Cannot read the folder of templates ".*(absent|file)": check TROUPE_TEMPLATES\.$/)
        return true
      })
    }
  })

  it('answer 500 without details when they fail during a request (R-WEB-02)', async () => {
    write({ 'aw-actor-www-init.html': '{% include id %}' })
    const { browser, service } = await open({ templates: folder })
    const answer = await browser.get('/init')
    assert.equal(answer.status, 500)
    assert.ok(!(await answer.text()).includes(folder))
    assert.ok(service.log.some((line) => line.includes('A request failed')))
  })

  it('leave an error as JSON when the error page itself fails (R-WEB-02)', async () => {
    const { browser } = await open({
      pages: {
        failed: () => {
          throw new Error('no page')
        },
      },
    })
    const answer = await browser.get('/properties/absent')
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [404, 'application/json'])
  })
})

describe('pages that only the application has', () => {
  it('are requested from the application with the path, the method and the fields (R-WEB-02)', async () => {
    const calls: Omit<PageCall, 'actor' | 'caller' | 'log' | 'requestId'>[] = []
    const { browser, service } = await open({
      declare: (app) =>
        app.www(({ actor: _actor, log: _log, requestId: _requestId, caller, ...call }) => {
          assert.equal(caller.kind, 'creator')
          calls.push(call)
          return { seen: true }
        }),
    })
    for (const [path, init] of [
      ['/reports', {}],
      ['/reports/2026/a%20b?year=1&x=%3C', {}],
      ['/reports', { year: '2026', note: 'ä' }],
    ] as const) {
      const answer = Object.keys(init).length === 0 ? await browser.get(path) : await browser.send(path, init)
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'application/json'])
      assert.deepEqual(await answer.json(), { seen: true })
    }
    assert.deepEqual(calls, [
      { path: 'reports', method: 'GET', fields: {} },
      { path: 'reports/2026/a b', method: 'GET', fields: { year: '1', x: '<' } },
      { path: 'reports', method: 'POST', fields: { year: '2026', note: 'ä' } },
    ])
    // Built-in pages are never passed to the handler.
    for (const path of ['', '/properties', '/init', '/properties/color'])
      assert.equal((await browser.get(path)).status, 200)
    assert.equal(calls.length, 3)
    assert.equal(service.changes.filter(({ by }) => by.kind === 'application').length, 0)
  })

  it('show the template that the application names, whose data overrides the shared values (R-WEB-02)', async () => {
    write({ 'report.html': '{{ id }}|{{ actor_www }}|{{ url }}|{{ title }}|{{ creator }}' })
    const { browser, id } = await open({
      templates: folder,
      declare: (app) =>
        app.www(({ path }) => ({ template: path, data: { title: '<Report>', creator: 'somebody else' } })),
      pages: {
        custom: { function: ({ title, id: of }) => html`${String(title)} ${String(of)}`, report2: () => html`own` },
      },
    })
    const shown = `${id}|/${id}/www|http://troupe.test/${id}/www/report|&lt;Report&gt;|somebody else`
    assert.deepEqual(await page(browser.get('/report')), [200, shown])
    assert.deepEqual(await page(browser.get('/report.html')), [200, shown.replace('/report|', '/report.html|')])
    assert.deepEqual(await page(browser.get('/function')), [200, `&lt;Report&gt; ${id}`])
    assert.deepEqual(await page(browser.get('/report2')), [200, 'own'])
    assert.deepEqual(await page(browser.send('/report', {})), [200, shown])
  })

  it('answer 404 when no handler returns an object, as a page or as JSON (R-WEB-02)', async () => {
    const answers: readonly unknown[] = [null, undefined, true, false, 0, 1, '', 'text', [], ['x']]
    const { browser } = await open({
      declare: (app) =>
        app.www(({ path }) => answers[Number(path)] as null).www(({ path }) => (path === '3' ? { late: true } : null)),
    })
    for (const [index] of answers.entries()) {
      const answer = await browser.get(`/${index}`)
      if (index === 3) assert.deepEqual(await answer.json(), { late: true })
      else {
        assert.deepEqual(
          [answer.status, answer.headers.get('content-type')],
          [404, 'text/html; charset=utf-8'],
          String(index),
        )
        assert.match(await answer.text(), /<h1>Not found<\/h1>/)
      }
    }
    const asData = await browser.get('/0', { accept: 'application/json' })
    assert.deepEqual(
      [asData.status, await asData.json()],
      [404, { error: 'not_found', message: 'The page does not exist' }],
    )
  })

  it('answer 500 when the application names a page that does not exist (R-WEB-02)', async () => {
    write({ 'report.html': 'x' })
    const { browser, service } = await open({
      templates: folder,
      declare: (app) => app.www(({ path }) => ({ template: path === 'own' ? '../report.html' : 'toString' })),
    })
    for (const path of ['/own', '/other']) {
      const answer = await browser.get(path)
      assert.equal(answer.status, 500)
      assert.doesNotMatch(await answer.text(), /toString|report/)
    }
    assert.ok(service.log.some((line) => line.includes('No page is called toString')))
  })
})

describe('a single-page application from a folder', () => {
  const index = '<!doctype html><script type="module" src="/assets/app.js"></script>'

  it('is served at /login and at every path below /app, with its files at /assets (R-WEB-04)', async () => {
    write({
      'index.html': index,
      'app.js': 'export {}',
      'deep/er/style.css': 'body{}',
      'picture.png': new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 255]),
    })
    const service = await start({ webUi: false, singlePage: folder })
    const { id } = await service.createActor()
    for (const path of ['/login', `/${id}/app`, `/${id}/app/`, `/${id}/app/notes/1?x=2`]) {
      assert.deepEqual(await page(service.request(path, { headers: asBrowser })), [200, index], path)
    }
    for (const [path, type, text] of [
      ['/assets/app.js', 'text/javascript; charset=utf-8', 'export {}'],
      ['/assets/deep/er/style.css', 'text/css; charset=utf-8', 'body{}'],
    ] as const) {
      const answer = await service.request(path)
      assert.deepEqual([answer.status, answer.headers.get('content-type'), await answer.text()], [200, type, text])
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
      const again = await service.request(path, { headers: { 'if-none-match': answer.headers.get('etag') ?? '' } })
      assert.deepEqual([again.status, await again.text()], [304, ''])
    }
    const picture = await service.request('/assets/picture.png')
    assert.deepEqual([...new Uint8Array(await picture.arrayBuffer())], [0x89, 0x50, 0x4e, 0x47, 0, 255])
    assert.equal(picture.headers.get('content-length'), '6')
    assert.equal((await service.request('/')).status, 200)
    assert.match(await (await service.request('/assets/troupe.css')).text(), /--accent/)
  })

  it('is updated immediately after an edit (R-WEB-04)', async () => {
    write({ 'index.html': 'one' })
    const service = await start({ webUi: false, singlePage: folder })
    assert.equal(await (await service.request('/login')).text(), 'one')
    write({ 'index.html': 'two' })
    assert.equal(await (await service.request('/login')).text(), 'two')
  })

  it('leaves /login to the service when the service has pages (R-WEB-04)', async () => {
    write({ 'index.html': index })
    const service = await start({ singlePage: folder })
    const { id } = await service.createActor()
    assert.doesNotMatch(await (await service.request('/login')).text(), /assets\/app\.js/)
    assert.equal(await (await service.request(`/${id}/app`)).text(), index)
  })

  it('is the start page of a signed-in person, also when the service has pages (R-WEB-04)', async () => {
    write({ 'index.html': index })
    for (const [settings, home] of [
      [{ singlePage: folder }, 'app'],
      [{ singlePage: folder, webUi: false }, 'app'],
      [{ webUi: false }, 'app'],
      [{}, 'www'],
    ] as const) {
      await using t = await testing(troupe({ type: 'urn:test' }), { settings })
      const ada = await t.signIn('ada@example.com')
      for (const path of [`${t.url}/`, `${t.url}/${ada.actor.id}`]) {
        const answer = await ada.fetch(path, { headers: { accept: 'text/html' } })
        assert.equal(answer.headers.get('location'), `${t.url}/${ada.actor.id}/${home}`)
      }
    }
  })

  it('serves no hidden file, no unknown type, and no file outside the folder (R-WEB-04)', async () => {
    write({
      'public/index.html': index,
      'public/.env': 'SECRET',
      'public/.git/config.txt': 'SECRET',
      'public/notes.key': 'SECRET',
      'public/folder.js/x.js': 'x',
      'secret.txt': 'SECRET',
    })
    const service = await start({ webUi: false, singlePage: join(folder, 'public') })
    for (const path of [
      '.env',
      '.git/config.txt',
      'notes.key',
      '../secret.txt',
      '%2e%2e/secret.txt',
      '..%2fsecret.txt',
      '..%5csecret.txt',
      'x/../../secret.txt',
      'C:secret.txt',
      '/secret.txt',
      'absent.js',
      'folder.js',
      'index.html/x.js',
      `${'x'.repeat(3000)}.js`,
      'a%00.js',
    ]) {
      const answer = await service.request(`/assets/${path}`)
      assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status}`)
      assert.doesNotMatch(await answer.text(), /SECRET/)
    }
  })

  it('answers 404 without index.html, for an unknown actor, and without a folder (R-WEB-04)', async () => {
    const service = await start({ webUi: false, singlePage: folder })
    const { id } = await service.createActor()
    for (const path of ['/login', `/${id}/app`]) assert.equal((await service.request(path)).status, 404, path)
    write({ 'index.html': index })
    assert.equal((await service.request(`/${id}/app`)).status, 200)
    assert.equal((await service.request('/0123456789abcdef0123456789abcdef/app')).status, 404)
    const without = await start({ webUi: false })
    assert.equal((await without.request(`/${(await without.createActor()).id}/app`)).status, 404)
    assert.equal((await without.request('/login')).status, 200)
  })

  it('follows symbolic links inside the folder, and a link that names the folder itself (R-WEB-04)', async () => {
    write({ 'release/index.html': index, 'release/.data/lib/a.js': 'inside', 'release/.data/b.js': 'inside too' })
    symlinkSync('.data/lib', join(folder, 'release', 'lib'))
    symlinkSync(join(folder, 'release', '.data', 'b.js'), join(folder, 'release', 'b.js'))
    symlinkSync('release', join(folder, 'current'))
    const service = await start({ webUi: false, singlePage: join(folder, 'current') })
    assert.equal(await (await service.request('/assets/lib/a.js')).text(), 'inside')
    assert.equal(await (await service.request('/assets/b.js')).text(), 'inside too')
    assert.equal(await (await service.request('/login')).text(), index)
  })

  it('serves no file, folder or index.html through a symbolic link that leaves the folder (R-WEB-04)', async () => {
    write({
      'secret.js': 'SECRET',
      'hidden/deep.js': 'SECRET',
      'public-old/a.js': 'SECRET',
      'page.html': 'SECRET',
      'public/app.js': 'x',
    })
    const link = (target: string, name: string): void => symlinkSync(target, join(folder, 'public', name))
    link('../secret.js', 'relative.js')
    link(join(folder, 'secret.js'), 'absolute.js')
    link('../hidden', 'lib')
    // A folder whose name begins with the name of the served folder.
    link('../public-old/a.js', 'neighbor.js')
    link('relative.js', 'chain.js')
    link('loop.js', 'loop.js')
    link('nowhere.js', 'dangling.js')
    link('../page.html', 'index.html')
    const service = await start({ webUi: false, singlePage: join(folder, 'public') })
    for (const path of [
      '/assets/relative.js',
      '/assets/absolute.js',
      '/assets/lib/deep.js',
      '/assets/neighbor.js',
      '/assets/chain.js',
      '/assets/loop.js',
      '/assets/dangling.js',
      '/login',
    ]) {
      const answer = await service.request(path)
      assert.equal(answer.status, 404, path)
      assert.doesNotMatch(await answer.text(), /SECRET/)
    }
    assert.equal(await (await service.request('/assets/app.js')).text(), 'x')
  })
})
