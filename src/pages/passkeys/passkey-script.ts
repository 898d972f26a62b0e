import { pageScript } from '../shared/assets.ts'

/** Asks the device for a passkey when a form is sent, and sends its response in the field `response`. */
export const passkeyScript = pageScript(
  'passkeys',
  `for (const form of document.querySelectorAll('form[data-passkey]')) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const button = form.querySelector('button')
    if (button.disabled) return
    button.disabled = true
    say('')
    try {
      form.elements.response.value = JSON.stringify(await response())
      form.submit()
    } catch (error) {
      button.disabled = false
      say(form.dataset[messageOf(error)])
    }
  })

  function response() {
    const { PublicKeyCredential } = window
    if (PublicKeyCredential?.parseCreationOptionsFromJSON === undefined) throw new DOMException('', 'NotSupportedError')
    const options = JSON.parse(form.dataset.options)
    if (form.dataset.passkey === 'get')
      return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })
    const owner = form.elements.owner?.value.trim()
    if (owner) options.user = { ...options.user, name: owner, displayName: owner }
    return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
  }

  function say(text) {
    form.querySelector('[role=alert]').textContent = text
  }
}

function messageOf({ name }) {
  if (name === 'NotAllowedError' || name === 'AbortError') return 'cancelled'
  if (name === 'InvalidStateError') return 'known'
  return name === 'NotSupportedError' ? 'unsupported' : 'failed'
}
`,
)
