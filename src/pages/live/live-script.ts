import { builtInWords } from '../languages/live-words.ts'

/**
 * The only script of the pages. It listens for changes, fetches the open page again and replaces the parts that changed.
 * The pages work without it; changes then appear at the next load.
 */
export const liveScript = `const main = document.querySelector('main[data-live]')
// The sentences in the language of the page. Own pages may omit some or all.
const words = { ...${JSON.stringify(builtInWords)}, ...JSON.parse(main?.dataset.words ?? '{}') }
if (main && window.EventSource) begin(main.dataset)
if (navigator.clipboard) offerCopies()

/** Shows the buttons that copy a text, and says that a text was copied. */
function offerCopies() {
  document.documentElement.classList.add('copies')
  addEventListener('click', async ({ target }) => {
    const button = target.closest('[data-copy]')
    if (!button) return
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent)
    const label = button.firstElementChild
    const before = label.textContent
    if (before === button.dataset.copied) return
    label.textContent = button.dataset.copied
    setTimeout(() => (label.textContent = before), 2000)
  })
}

function begin({ live: address, session }) {
  const speaker = document.body.appendChild(document.createElement('p'))
  speaker.className = 'unseen'
  speaker.setAttribute('aria-live', 'polite')
  const waiting = []
  let source, channel, leaving, timer, again, isPressed, hasEnded
  let refreshing = new AbortController()
  let begun = 0
  let shown = 0
  let waitMs = 5000
  // The number of the last change that is known here.
  let last = null
  // Extensions of the browser add attributes to fields later. Those are not changes of the content.
  for (const region of regions()) region.source = plain(region)

  const open = () => {
    if (hasEnded || document.hidden) return
    // The user returns while a retry waits.
    if (leaving) return again && listen()
    const { signal } = (leaving = new AbortController())
    last = null
    // Only secure contexts have locks.
    if (!session || !navigator.locks || !window.BroadcastChannel) return listen()
    // Browsers limit the connections to one host. So the windows of a session share one stream: the holder of the lock passes
    // its events to the others. A session has its own lock, because the stream ends with the session.
    const name = address + ' ' + session
    channel = new BroadcastChannel(name)
    channel.onmessage = ({ data }) => {
      if (data) receive(data)
      else if (source && last !== null) channel.postMessage({ number: last, isHello: true })
    }
    // Changes since this page was made are lost. The answer tells the number that follows them.
    channel.postMessage(0)
    navigator.locks
      .request(name, { signal }, () => {
        listen()
        return new Promise((done) => (signal.onabort = done))
      })
      .catch(() => {})
  }
  const tell = (message) => {
    receive(message)
    channel?.postMessage(message)
  }
  const receive = ({ number, change, isHello }) => {
    if (isHello ? last !== null : change && number <= last) return
    last = number
    if (!change || regions().some((region) => follows(region, change))) look(change)
  }
  const listen = () => {
    // Another window led before. Its stream continues here, without a gap.
    clearTimeout(again)
    again = 0
    source = new EventSource(last ? address + '?after=' + last : address)
    source.addEventListener('ready', ({ data }) => {
      const { number, resumed } = JSON.parse(data)
      waitMs = 5000
      // Events before the stream opened, or while it was broken, are lost. So fetch the page once.
      if (!resumed) tell({ number })
    })
    source.addEventListener('change', ({ data }) => {
      const change = JSON.parse(data)
      tell({ number: change.number, change })
    })
    source.onerror = () => {
      if (source?.readyState !== EventSource.CLOSED) return
      // The service refused the stream, and the browser does not retry: the session ended, the service is not ready, or the
      // limit of streams is reached. The script retries with increasing delays and fetches the page each time.
      source = null
      tell({ number: null })
      again = setTimeout(listen, waitMs)
      waitMs = Math.min(2 * waitMs, 3e5)
    }
  }
  // Hidden pages close their stream, and another window listens.
  const close = () => {
    leaving?.abort()
    channel?.close()
    source?.close()
    clearTimeout(again)
    again = leaving = channel = source = null
  }
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()))
  addEventListener('pagehide', close)
  // The response to the form replaces this page. Until then, stop refreshing: the form may delete what the page shows.
  addEventListener('submit', () => {
    close()
    clearTimeout(timer)
    refreshing.abort()
    refreshing = new AbortController()
  })
  // A click begins and ends at one element. It would be lost when the region of the element were replaced in between.
  addEventListener('pointerdown', ({ button }) => (isPressed ||= button === 0))
  // The click follows its pointerup, before any timer.
  for (const type of ['pointerup', 'pointercancel', 'dragend', 'blur'])
    addEventListener(type, () => setTimeout(() => (isPressed = false)))
  // The browser restored the page from its back/forward cache.
  addEventListener('pageshow', open)
  open()

  /** Collects changes that arrive together, and fetches the page once for all of them. */
  function look(change) {
    if (change) waiting.push(change)
    clearTimeout(timer)
    timer = setTimeout(refresh, 150)
  }

  async function refresh() {
    const changes = waiting.splice(0)
    const { signal } = refreshing
    const own = ++begun
    try {
      const answer = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'manual', signal })
      // The session ended: the service redirects to the sign-in page, or without one responds with 401.
      if (answer.type === 'opaqueredirect' || answer.status === 401) return end(words.signedOut)
      if (answer.status === 404) return end(words.deleted)
      if (!answer.ok) return
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
      while (isPressed) await new Promise((done) => setTimeout(done, 20))
      // Responses may arrive in another order than their requests, and an older one must not hide a newer one.
      if (signal.aborted || own < shown) return
      shown = own
      document.title = fresh.title
      const replaced = regions().filter((region) => replace(region, fresh.getElementById(region.id)))
      if (replaced.length > 0)
        speaker.textContent = sentencesFor(
          changes.filter((change) => replaced.some((region) => follows(region, change))),
        )
    } catch {
      // The service is unreachable, or a form was sent. EventSource reconnects by itself, and the page refreshes then.
    }
  }

  function end(sentence) {
    hasEnded = true
    close()
    note(main, sentence)
    speaker.textContent = sentence
  }

}

function regions() {
  return [...document.querySelectorAll('[data-follows]')]
}

function follows(region, { category, name }) {
  const { follows, name: only } = region.dataset
  return follows.split(' ').includes(category) && (only === undefined || only === name)
}

/** Replaces a region. Returns true when its content changed. */
function replace(region, fresh) {
  if (!fresh) return false
  // Compare with the content from the service, without anything that the visitor opened or typed since.
  const before = region.source ?? plain(region)
  const after = plain(fresh)
  if (before === after) return false
  if (isEdited(region)) {
    note(region, words.editing)
    return false
  }
  const focused = region.contains(document.activeElement) ? placeOf(region, document.activeElement) : null
  const opened = [...region.querySelectorAll('details')].map(({ open }) => open)
  // A browser without popovers ignores the unknown part of the selector.
  const asking = region.querySelector(':is(:popover-open)')?.id
  // On a phone, the navigation is scrolled sideways.
  const scrolled = region.firstElementChild?.scrollLeft ?? 0
  const target = document.importNode(fresh, true)
  target.source = after
  region.replaceWith(target)
  target.firstElementChild?.scrollTo({ left: scrolled, behavior: 'instant' })
  const folds = [...target.querySelectorAll('details')]
  if (folds.length === opened.length) for (const [index, fold] of folds.entries()) fold.open ||= opened[index]
  if (asking) document.getElementById(asking)?.showPopover()
  if (focused) (find(target, focused) ?? main).focus({ preventScroll: true })
  target.classList.add('fresh')
  return true
}

/** Returns the content of a region without parts that differ at every fetch. */
function plain(region) {
  const copy = region.cloneNode(true)
  copy.classList.remove('fresh')
  for (const fold of copy.querySelectorAll('details')) fold.removeAttribute('open')
  for (const changing of copy.querySelectorAll('time, [data-copy]')) changing.textContent = ''
  return copy.innerHTML
}

function isEdited(region) {
  const fields = [...region.querySelectorAll('input, textarea, select')]
  return fields.some((field) => {
    if (field.type === 'hidden') return false
    if (field === document.activeElement) return true
    if (/checkbox|radio/.test(field.type)) return field.checked !== field.defaultChecked
    if (field.options)
      return field.selectedIndex !== Math.max(0, [...field.options].findIndex((one) => one.defaultSelected))
    return field.value !== field.defaultValue
  })
}

const reachableIn = (region) => [
  ...region.querySelectorAll('a[href], button, input, textarea, select, summary, [tabindex]'),
]

/** Identifies an element by its id, else by its text and link, else by its position. */
function placeOf(region, element) {
  const index = reachableIn(region).indexOf(element)
  return { id: element.id, text: element.textContent, href: element.getAttribute('href'), index }
}

function find(region, { id, text, href, index }) {
  const all = reachableIn(region)
  return (
    all.find((element) => id && element.id === id) ??
    all.find((element) => element.textContent === text && element.getAttribute('href') === href) ??
    all[index]
  )
}

function note(place, sentence) {
  const before = place === main ? main.firstElementChild : place
  if ([before, before?.previousElementSibling].some((one) => one?.classList.contains('stale'))) return
  const line = document.createElement('p')
  line.className = 'notice stale'
  line.textContent = sentence
  before?.before(line)
}

/** One sentence for each kind of change, and for each changed property. */
function sentencesFor(changes) {
  const sentences = changes.map(({ category, name }) =>
    category === 'properties' ? words.properties.replace('{name}', () => name) : (words[category] ?? words.page),
  )
  const distinct = [...new Set(sentences)]
  if (distinct.length > 3) distinct.splice(3, Infinity, words.page)
  return distinct.join(', ') || words.page
}
`
