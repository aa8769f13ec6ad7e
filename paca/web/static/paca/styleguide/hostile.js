// Hostile texts: markup, scripts, links and control characters. The page shows all of them as text.

export const HOSTILE = [
  "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>",
  "[press me](javascript:document.title='broken') and ![seen](https://evil.example/beacon.png)",
  "\u001b]0;broken\u0007\u001b[2Jclear \u202egpj.exe",
  "<svg/onload=alert(1)> <a href='data:text/html,x'>data</a> <style>*{display:none}</style>",
];
