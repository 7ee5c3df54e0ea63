git init -q && git add . && git -c user.name=demo -c user.email=demo@localhost commit -qm Begin
"$0" init && "$0" task import PLAN.md && exec "$0" run --trust "$@"
