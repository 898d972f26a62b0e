/**
 * The one script of the pages: while a page is open it listens for changes, fetches the page again and puts the parts that
 * follow them in place of the old ones. Without it everything works; one sees changes at the next visit.
 */
export const liveScript = `const main = document.querySelector('main[data-live]')
if (main !== null && 'EventSource' in window) begin(main.dataset.live)

function begin(address) {
  const speaker = document.body.appendChild(document.createElement('p'))
  speaker.className = 'unseen'
  speaker.setAttribute('aria-live', 'polite')
  let source = null
  let waiting = []
  let timer = 0
  let again = 0
  let refreshing = null
  let waitMs = 5000
  let hasEnded = false

  const open = () => {
    if (source !== null || hasEnded || document.hidden) return
    source = new EventSource(address)
    // What changed before the stream stood, or while it was broken, was told to nobody.
    source.addEventListener('open', () => {
      waitMs = 5000
      look(null)
    })
    source.addEventListener('change', ({ data }) => {
      const change = JSON.parse(data)
      if (regions().some((region) => follows(region, change))) look(change)
    })
    source.addEventListener('error', () => {
      if (source?.readyState !== EventSource.CLOSED) return
      // Refused, and the browser does not ask again: the page tells why, the service is not ready yet, or it has as many
      // streams as it takes. It is left alone for longer each time; until it takes this one, each look shows what changed.
      close()
      look(null)
      clearTimeout(again)
      again = setTimeout(open, waitMs)
      waitMs = Math.min(2 * waitMs, 300000)
    })
  }
  // A browser opens few connections to one place; pages that nobody looks at leave them to the others.
  const close = () => {
    source?.close()
    source = null
  }
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()))
  window.addEventListener('pagehide', close)
  // The answer to the form replaces this page, and what the page shows may be deleted before that.
  document.addEventListener('submit', () => {
    close()
    clearTimeout(timer)
    clearTimeout(again)
    refreshing?.abort()
  })
  // A page that comes back from where the browser keeps those that were left.
  window.addEventListener('pageshow', ({ persisted }) => (persisted ? open() : undefined))
  open()

  /** Changes come in crowds: one look for all of them. */
  function look(change) {
    if (change !== null) waiting.push(change)
    clearTimeout(timer)
    timer = setTimeout(refresh, 150)
  }

  async function refresh() {
    const changes = waiting
    waiting = []
    refreshing = new AbortController()
    const { signal } = refreshing
    try {
      const answer = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'manual', signal })
      // A redirect leads to the sign-in page; where there is none, 401 asks for the passphrase.
      if (answer.type === 'opaqueredirect' || answer.status === 401) {
        return end('You are signed out. Load the page again to sign in.')
      }
      if (answer.status === 404) return end('What this page shows is not there any more.')
      if (!answer.ok) return
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
      const shown = regions().filter((region) => replace(region, fresh.getElementById(region.id)))
      if (shown.length > 0) say(wordsFor(changes.filter((change) => shown.some((region) => follows(region, change)))))
    } catch {
      // The service cannot be reached, or a form was sent. EventSource reconnects by itself, and the page refreshes then.
    }
  }

  function end(words) {
    hasEnded = true
    close()
    note(main, words)
    say(words)
  }

  function say(words) {
    speaker.textContent = words
  }
}

function regions() {
  return [...document.querySelectorAll('[data-follows]')]
}

function follows(region, { category, name }) {
  const { follows, name: only } = region.dataset
  return follows.split(' ').includes(category) && (only === undefined || only === name)
}

/** True when the region shows something else than before. */
function replace(region, fresh) {
  if (fresh === null) return false
  // What the service sent, and not what the visitor opened or typed since.
  const before = region.source ?? plain(region)
  const after = plain(fresh)
  if (before === after) return false
  if (isEdited(region)) {
    note(region, 'Updated elsewhere while you were editing. Your draft stays, and saving shows both versions.')
    return false
  }
  const focused = region.contains(document.activeElement) ? placeOf(region, document.activeElement) : null
  const opened = [...region.querySelectorAll('details')].map(({ open }) => open)
  const target = document.importNode(fresh, true)
  target.source = after
  region.replaceWith(target)
  const folds = [...target.querySelectorAll('details')]
  if (folds.length === opened.length) for (const [index, fold] of folds.entries()) fold.open ||= opened[index]
  if (focused !== null) (find(target, focused) ?? main).focus({ preventScroll: true })
  target.classList.add('fresh')
  return true
}

/** Without what differs from one look to the next although nothing happened. */
function plain(region) {
  const copy = region.cloneNode(true)
  copy.classList.remove('fresh')
  for (const fold of copy.querySelectorAll('details')) fold.removeAttribute('open')
  for (const time of copy.querySelectorAll('time')) time.textContent = ''
  return copy.innerHTML
}

function isEdited(region) {
  const fields = [...region.querySelectorAll('input, textarea, select')]
  return fields.some((field) => {
    if (field.type === 'hidden') return false
    if (field === document.activeElement) return true
    if (field.type === 'checkbox' || field.type === 'radio') return field.checked !== field.defaultChecked
    if (field.tagName === 'SELECT') {
      const standard = [...field.options].findIndex(({ defaultSelected }) => defaultSelected)
      return field.selectedIndex !== Math.max(0, standard)
    }
    return field.value !== field.defaultValue
  })
}

const reachable = 'a[href], button, input, textarea, select, summary, [tabindex]'

/** By its id, else by what it says and where it leads, else by its place among the others. */
function placeOf(region, element) {
  const all = [...region.querySelectorAll(reachable)]
  return { id: element.id, text: element.textContent, href: element.getAttribute('href'), index: all.indexOf(element) }
}

function find(region, { id, text, href, index }) {
  const all = [...region.querySelectorAll(reachable)]
  return (
    all.find((element) => id !== '' && element.id === id) ??
    all.find((element) => element.textContent === text && element.getAttribute('href') === href) ??
    all[index]
  )
}

function note(place, words) {
  const before = place === main ? main.firstElementChild : place
  if (before?.previousElementSibling?.classList.contains('stale') || before?.classList.contains('stale')) return
  const line = document.createElement('p')
  line.className = 'notice stale'
  line.textContent = words
  before?.before(line)
}

const nouns = {
  trust: 'Relationships',
  subscriptions: 'Subscriptions',
  sessions: 'Connected apps',
  approvals: 'What waits for you',
}

function wordsFor(changes) {
  const named = changes.map(({ category, name }) => (category === 'properties' ? name : (nouns[category] ?? 'The page')))
  const distinct = [...new Set(named)]
  if (distinct.length === 0) return 'The page changed'
  if (distinct.length > 3) return \`\${distinct.slice(0, 3).join(', ')} and more changed\`
  return \`\${distinct.join(', ')} changed\`
}
`
